import { findCard } from '../cards/keep-card.ts';
import type { Deps } from '../deps.ts';
import { carriedAs } from '../dialects/common-ground/carried.ts';
import { ParleyError } from '../errors.ts';
import { idFrom } from '../ids.ts';
import type { Json } from '../json/json.ts';
import type { ProgressMessage } from '../messages/command.ts';
import { loaded } from '../tasks/content.ts';
import { report } from '../tasks/report.ts';
import { renewLease } from '../tasks/steer.ts';
import type { TurnEnd } from './head.ts';
import type { Turn } from './turn.ts';
import type { TakenStep, TurnEffect } from './turn-effect.ts';

/** The task ends as the turn did that worked on it, with what its deliverable says. */
export const endTask = async (deps: Deps, turn: Turn, end: TurnEnd): Promise<void> => {
  const sender = await deps.directory.agent(turn.project, turn.agent);
  if (!sender || turn.task === undefined) return;
  const id = idFrom(`${turn.id}/end`);
  const { status, deliverable, outputBox } = end;
  const said = { agent_turn_id: turn.id, status, deliverable_card_id: deliverable, output_box_id: outputBox };
  const about = { messageId: id, fingerprint: id, from: turn.agent, taskId: turn.task, carried: carriedAs(said) };
  const isDone = status === 'success' || status === 'partial';
  try {
    if (isDone) await report(deps, sender, { ...about, kind: 'complete', output: await deliveredBy(deps, turn, end) });
    // What is done is done, whoever's attempt it was; but nobody fails what another has in hand, or waits for the next.
    else await report(deps, sender, { ...about, attempt: turn.attempt, kind: 'fail', error: errorOf(end) });
  } catch (error) {
    // Whoever asked may have cancelled it, or its lease was lost: it is no longer the turn's.
    if (!(error instanceof ParleyError && error.retry === 'never')) throw error;
  }
};

/** Where the worker names none. */
const CODES: Partial<Record<TurnEnd['status'], string>> = { timeout: 'timeout', canceled: 'CANCELLED' };

/** A worker that was lost may do better next time; what an agent says of itself is final. */
const errorOf = ({ status, error, errorCode }: TurnEnd) => ({
  code: errorCode ?? CODES[status] ?? 'internal_error',
  message: error ?? `The turn ended ${status}.`,
  retryable: errorCode === 'reaped' || status === 'timeout',
});

/** A deliverable that is no longer kept, or never was, is at least named. */
const deliveredBy = async (deps: Deps, { project }: Turn, { deliverable = '' }: TurnEnd): Promise<Json> => {
  try {
    return await loaded(deps.blobs, project, (await findCard(deps, project, deliverable)).content);
  } catch (error) {
    if (!(error instanceof ParleyError)) throw error;
    return { deliverable_card_id: deliverable };
  }
};

type Renewal = Pick<Extract<TurnEffect, { do: 'renewTask' }>, 'project' | 'agent' | 'task' | 'step'>;

/** What the turn does is a sign of life of the task, too. */
export const renewTask = async (deps: Deps, { project, agent, task, step }: Renewal): Promise<void> => {
  const holder = await deps.directory.agent(project, agent);
  if (!holder) return;
  try {
    if (step) await report(deps, holder, progressIn(agent, task, step));
    else await renewLease(deps, holder, task);
  } catch (error) {
    if (!(error instanceof ParleyError && error.retry === 'never')) throw error;
  }
};

/** The event of a step has all of its metadata; a task keeps what it has room for beside everything else. */
const MOST_METADATA = 8 * 1024;
const LONGEST_TEXT = 4000;

/** How far it is and what it does, where the step says so as a reader of this protocol is told it. */
const progressIn = (
  agent: string,
  taskId: string,
  { turn, number, id, phase, metadata }: TakenStep,
): ProgressMessage => {
  const messageId = idFrom(`${turn}/${number}`);
  const { progress: percent, message } = metadata ?? {};
  const isLarge = JSON.stringify(metadata ?? {}).length > MOST_METADATA;
  return {
    kind: 'progress',
    messageId,
    fingerprint: messageId,
    from: agent,
    taskId,
    progress: {
      percent: typeof percent === 'number' && percent >= 0 && percent <= 100 ? percent : undefined,
      message: typeof message === 'string' ? message.slice(0, LONGEST_TEXT) : phase,
      carried: carriedAs({ agent_turn_id: turn, step_id: id, phase, metadata: isLarge ? undefined : metadata }),
    },
  };
};
