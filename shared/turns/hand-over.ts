import { keepCard } from '../cards/keep-card.ts';
import type { Deps } from '../deps.ts';
import { COMMON_GROUND } from '../dialects/common-ground/name.ts';
import { ParleyError } from '../errors.ts';
import { PARLEY } from '../inbox/delivery.ts';
import { fingerprint } from '../json/fingerprint.ts';
import { loaded } from '../tasks/content.ts';
import { cancel } from '../tasks/ends.ts';
import { unseen } from '../tasks/rules.ts';
import { submit } from '../tasks/submit.ts';
import { type Task, taskRef } from '../tasks/task.ts';
import { endingOf } from './answer-call.ts';
import { endTurn } from './end-turn.ts';
import type { TurnEnd } from './head.ts';
import type { Ground } from './tool-call.ts';
import { type Turn, turnRef } from './turn.ts';

/** The turn of an agent that speaks another protocol is a task of that agent's, under the same id. */
export const handOver = async (deps: Deps, turn: Turn): Promise<void> => {
  if (!(await hasEnded(deps, turn))) await handed(deps, turn);
  // Whoever stopped it meanwhile found no task to cancel.
  if (await hasEnded(deps, turn)) await cancelHanded(deps, turn);
};

const hasEnded = async ({ records }: Deps, { project, id }: Turn): Promise<boolean> => {
  const turn = await records.get(turnRef(project, id));
  return !turn || turn.end !== undefined;
};

/** The turn has ended, and so has the task that it became. */
export const cancelHanded = async (deps: Deps, { project, id }: Pick<Turn, 'project' | 'id'>): Promise<void> => {
  const change = unseen(cancel(PARLEY, { now: deps.clock.now(), limits: deps.config.tasks }));
  await deps.records.update(taskRef(project, id), change, deps.newId());
};

const handed = async (deps: Deps, turn: Turn): Promise<void> => {
  const { id } = turn;
  const commonGround: Ground = { channel: turn.channel, depth: turn.depth, turn: id };
  const trace = { traceparent: turn.traceparent, tracestate: turn.tracestate };
  try {
    await submit(
      deps,
      { project: turn.project, role: 'admin' },
      COMMON_GROUND,
      {
        kind: 'request',
        messageId: id,
        taskId: id,
        fingerprint: fingerprint([id]),
        from: turn.from,
        chain: turn.callers,
        to: turn.agent,
        isBoundedByDepth: true,
        capability: CAPABILITY,
        priority: 'normal',
        ttlSeconds: Math.round(deps.config.turns.keepMs / 1000),
        input: { ...turn.payload, context_box_id: turn.contextBox },
        carried: { commonGround },
        trace,
      },
      trace,
    );
  } catch (error) {
    if (!(error instanceof ParleyError && error.retry === 'never')) throw error;
    const end: TurnEnd = { status: 'failed', at: deps.clock.now(), error: error.message, errorCode: error.code };
    await endTurn(deps, turn, end);
  }
};

/** What an agent of another protocol reads as the kind of work. */
const CAPABILITY = 'common-ground.turn';

/** The task has ended, and so has the turn; its result is a card. */
export const takeBack = async (deps: Deps, task: Task, turnId: string): Promise<void> => {
  const turn = await deps.records.get(turnRef(task.project, turnId));
  if (!turn) return;
  const output = task.output && (await loaded(deps.blobs, task.project, task.output));
  const card =
    output === undefined
      ? undefined
      : await keepCard(deps, task.project, task.holder ?? PARLEY, 'task.deliverable', output);
  await endTurn(deps, turn, {
    status: endingOf(task),
    at: task.endedAt ?? task.at,
    deliverable: card?.id,
    error: task.error?.message,
    errorCode: task.error?.code,
  });
};
