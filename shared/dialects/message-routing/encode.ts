import { shortId } from '../../ids.ts';
import { type Outcome, PARLEY } from '../../inbox/delivery.ts';
import { iso } from '../../json/iso.ts';
import { isJsonObject, type Json, type JsonObject } from '../../json/json.ts';
import type { Note } from '../../notes/note.ts';
import type { Priority } from '../../ports/queues.ts';
import { chainOf } from '../../tasks/chain.ts';
import type { Reported, Task } from '../../tasks/task.ts';
import { NAME, VERSION } from './decode.ts';
import { fitting } from './fitting.ts';
import { NUMBERS } from './priorities.ts';

export const encodeRequest = (task: Task, input: Json): JsonObject => {
  const said = own(task.carried);
  const envelope = envelopeOf(said, {
    id: task.id,
    from: task.from,
    to: task.to ?? task.holder ?? PARLEY,
    at: task.createdAt,
    type: 'task-delegation',
    correlation: task.parent,
    priority: task.priority,
  });
  if (isOwn(said)) return { ...envelope, payload: withParley(input, { lastError: task.error && { ...task.error } }) };
  const deadline = iso(task.deadline);
  const payload = {
    task: task.capability,
    context: { files: [], dependencies: [], deadline },
    metadata: { original_requester: chainOf(task)[0] },
    parley: {
      input,
      ...foreign(task.carried),
      chain: task.chain,
      retry: task.retry && { ...task.retry },
      lastError: task.error && { ...task.error },
    },
  };
  return fitting({ ...envelope, payload }, `/v1/tasks/${task.id}`);
};

export const encodeReport = (task: Reported): JsonObject => {
  const { percent, message, subTasks, blockers, confidence, carried = {} } = task.progress ?? {};
  const { payload, ...said } = own(carried);
  const envelope = envelopeOf(said, {
    id: task.seen?.at(-1)?.id ?? `${task.id}#${task.v}`,
    from: task.holder ?? PARLEY,
    to: task.from,
    at: task.at,
    type: 'status-update',
    correlation: task.id,
    priority: task.priority,
  });
  if (payload !== undefined) return { ...envelope, payload };
  const made = {
    status: blockers ? 'blocked' : 'in_progress',
    progress: percent === undefined ? 0 : percent / 100,
    message: message ?? textIn(task.claimNote?.message) ?? '',
    confidence,
    blockers: blockers ?? [],
    parley: withAny({ subTasks, claim: task.claimNote, ...foreign(carried) }),
  };
  return fitting({ ...envelope, payload: made }, `/v1/tasks/${task.id}`);
};

export const encodeOutcome = (
  outcome: Outcome,
  output: Json | undefined,
  artifacts: JsonObject[] | undefined,
): JsonObject => {
  const { task, status } = outcome;
  const carried = outcome.from === PARLEY ? {} : outcome.carried;
  const { payload, isPartial: _isPartial, ...said } = own(carried);
  const isDialogue = status === 'input_required' || status === 'claimed';
  const envelope = envelopeOf(said, {
    id: outcome.id,
    from: outcome.from,
    to: outcome.to,
    at: outcome.happenedAt,
    type: textIn(said.type) ?? (isDialogue ? 'status-update' : 'result'),
    correlation: task.id,
    priority: task.priority,
  });
  if (isOwn(said)) {
    const given = status === 'completed' ? output : payload;
    return { ...envelope, payload: withParley(given ?? {}, { artifacts }) };
  }
  const made = isDialogue ? dialogueOf(outcome) : endOf(outcome, output, artifacts);
  const parley = withAny({ ...made.parley, ...foreign(carried) });
  return fitting({ ...envelope, payload: { ...made, parley } }, `/v1/tasks/${task.id}`);
};

/** A payload in this dialect's words, and what it has no words for. */
type Made = JsonObject & { parley: JsonObject };

/** Who asks is blocked until it is answered. */
const dialogueOf = ({ status, prompt = {}, answer }: Outcome): Made => ({
  status: status === 'claimed' ? 'in_progress' : 'blocked',
  message: prompt.prompt,
  blockers: status === 'claimed' ? [] : [prompt.prompt ?? ''],
  parley: { status: status === 'claimed' ? 'input_given' : status, input: { ...prompt, answer } },
});

const endOf = (outcome: Outcome, output: Json | undefined, artifacts: JsonObject[] | undefined): Made => {
  const { task, status, error, confidence, happenedAt } = outcome;
  const isDone = status === 'completed';
  return {
    status: isDone ? 'success' : 'failure',
    deliverables: { files_modified: [], tests_added: [], artifacts: artifacts?.map(({ name = '' }) => name) ?? [] },
    metrics: { confidence, duration_ms: task.claimedAt === undefined ? undefined : happenedAt - task.claimedAt },
    issues: isDone ? [] : [whyOf(outcome)],
    next_steps: [],
    parley: {
      status: isDone ? undefined : status,
      output,
      artifacts,
      error: isDone ? undefined : error && { ...error },
    },
  };
};

const whyOf = ({ status, task, error }: Outcome): string => {
  if (status === 'cancelled') return `The task ${task.id} was cancelled.`;
  if (status === 'expired') return `Nobody claimed the task within ${task.ttlSeconds} s.`;
  return error?.message ?? 'The task failed.';
};

/** What another dialect sends is something to be told: a status, with all of it beside. */
export const encodeNote = (note: Note, content: Json): JsonObject => {
  const isOurs = note.type.startsWith(`${NAME}.`);
  const envelope = envelopeOf(own(note.carried), {
    id: note.id,
    from: note.from,
    to: note.to,
    at: note.createdAt,
    type: isOurs ? note.type.slice(NAME.length + 1) : 'status-update',
    correlation: note.correlation,
    priority: note.priority,
  });
  if (isOurs) return { ...envelope, payload: content };
  const parley = { type: note.type, content, ...foreign(note.carried) };
  const payload = { status: 'in_progress', message: note.type, parley };
  return fitting({ ...envelope, payload }, `/v1/messages/${note.from}/${note.id}`);
};

interface Told {
  id: string;
  from: string;
  to: string;
  at: number;
  type: string;
  correlation: string | undefined;
  priority: Priority;
}

/**
 * As its sender wrote it where that was in this dialect, and complete in any case. Other dialects do not count their messages: a
 * number made of the time rises as well.
 */
const envelopeOf = (said: JsonObject, { id, from, to, at, type, correlation, priority }: Told): JsonObject => ({
  ...(isOwn(said)
    ? said
    : {
        version: VERSION,
        timestamp: iso(at),
        sequence: Math.max(1, at),
        requires_ack: false,
        priority: NUMBERS[priority],
      }),
  msg_id: shortId(id),
  from,
  to,
  type,
  correlation_id: said.correlation_id ?? (correlation === undefined ? undefined : shortId(correlation)),
});

/** What `decode` put aside; what came in another dialect has nothing there. */
const own = (carried: JsonObject): JsonObject => {
  const value = carried[NAME];
  return isJsonObject(value) ? value : {};
};

const isOwn = (said: JsonObject): boolean => said.version !== undefined;

const foreign = ({ [NAME]: _own, ...others }: JsonObject): JsonObject => others;

const textIn = (value: Json | undefined): string | undefined => (typeof value === 'string' ? value : undefined);

const withAny = (value: JsonObject): JsonObject | undefined =>
  Object.values(value).some((member) => member !== undefined) ? value : undefined;

/** The payload as it was sent, with what only Parley knows beside it. */
const withParley = (payload: Json, more: JsonObject): Json => {
  const parley = withAny(more);
  return parley && isJsonObject(payload) ? { ...payload, parley } : payload;
};
