import { asUuid, canonicalId, idFrom } from '../../ids.ts';
import { type Outcome, PARLEY } from '../../inbox/delivery.ts';
import { iso } from '../../json/iso.ts';
import { type Json, type JsonObject, objectIn } from '../../json/json.ts';
import type { Note } from '../../notes/note.ts';
import type { Priority } from '../../ports/queues.ts';
import type { Reported, Task } from '../../tasks/task.ts';
import { NAME, VERSION } from './decode.ts';
import { codeFor } from './error-codes.ts';
import { evidenceOf } from './evidence.ts';

export const encodeRequest = (task: Task, input: Json): JsonObject => {
  const said = own(task.carried);
  const isOwn = task.dialect === NAME;
  return message(said, {
    id: asUuid(task.id),
    timestamp: task.createdAt,
    from: task.from,
    to: task.to ?? task.holder ?? PARLEY,
    // What another dialect asks for is something to be done, by a name.
    type: isOwn ? task.capability.slice(NAME.length + 1) : 'command',
    content: isOwn ? input : { command: task.capability, parameters: input },
    thread: task.parent ?? task.id,
    replyTo: task.parent && asUuid(task.parent),
    priority: task.priority,
    ttl: task.ttlSeconds,
    retryCount: numberIn(said.retryCount) + Math.max(0, task.attempt - 1),
    parley: {
      ...foreign(task.carried),
      taskId: unsaid(task.id),
      chain: task.chain,
      retry: task.retry && { ...task.retry },
      lastError: task.error && told(task.error),
    },
  });
};

export const encodeReport = (task: Reported): JsonObject => {
  const { carried = {}, percent, message: text, subTasks, blockers, confidence } = task.progress ?? {};
  const { content = null, ...said } = own(carried);
  const made = task.progress
    ? { status: blockers ? 'blocked' : 'in_progress', percent, message: text, subTasks, blockers }
    : { status: task.status, note: task.claimNote };
  return message(said, {
    id: idFrom(`${task.id}#${task.v}`),
    timestamp: task.at,
    from: task.holder ?? PARLEY,
    to: task.from,
    type: 'event',
    content: content ?? made,
    asked: own(task.carried),
    confidence,
    thread: task.id,
    replyTo: asUuid(task.id),
    priority: task.priority,
    ttl: task.ttlSeconds,
    parley: foreign(carried),
  });
};

export const encodeOutcome = (
  outcome: Outcome,
  output: Json | undefined,
  artifacts: JsonObject[] | undefined,
): JsonObject => {
  const isParleys = outcome.from === PARLEY;
  const { content, ...said } = isParleys ? {} : own(outcome.carried);
  const made = { response: output ?? null, error: content ?? failureOf(outcome), event: dialogueOf(outcome) };
  const type = typeOf(outcome);
  return message(said, {
    id: outcome.id,
    timestamp: outcome.happenedAt,
    from: outcome.from,
    to: outcome.to,
    type,
    content: made[type],
    // Whoever asked gets the answer where it asked.
    asked: outcome.to === outcome.task.from ? own(outcome.task.carried) : undefined,
    confidence: outcome.confidence,
    thread: outcome.task.id,
    replyTo: asUuid(outcome.task.id),
    priority: outcome.task.priority,
    ttl: outcome.task.ttlSeconds,
    parley: { ...(isParleys ? {} : foreign(outcome.carried)), taskId: unsaid(outcome.task.id), artifacts },
  });
};

const typeOf = ({ status }: Outcome): 'response' | 'error' | 'event' => {
  if (status === 'input_required' || status === 'claimed') return 'event';
  return status === 'completed' ? 'response' : 'error';
};

/** AgentOS has no question about a task in hand: it is told as progress, and so is the answer. */
const dialogueOf = ({ status, prompt, answer }: Outcome): JsonObject => ({
  status: status === 'claimed' ? 'input_given' : status,
  message: prompt?.prompt,
  input: { ...prompt, answer },
});

export const encodeNote = (note: Note, content: Json): JsonObject => {
  const isOwn = note.type.startsWith(`${NAME}.`);
  return message(own(note.carried), {
    id: note.id,
    timestamp: note.createdAt,
    from: note.from,
    to: note.to,
    type: isOwn ? note.type.slice(NAME.length + 1) : 'event',
    content: isOwn ? content : { type: note.type, content },
    thread: note.correlation ?? note.id,
    replyTo: note.correlation && asUuid(note.correlation),
    priority: note.priority,
    ttl: note.ttlSeconds,
    parley: foreign(note.carried),
  });
};

interface Told {
  id: string;
  timestamp: number;
  from: string;
  to: string;
  type: string;
  content: Json;
  /** What the message that this one answers carried. */
  asked?: JsonObject;
  /** How sure its sender is, 0 to 1, where that was said in another dialect. */
  confidence?: number;
  /** What the message belongs to, for a reader that wants a session and a request. */
  thread: string;
  replyTo?: string;
  priority: Priority;
  ttl?: number;
  retryCount?: number;
  /** What only other dialects have words for. */
  parley: JsonObject;
}

/** A whole message: as its sender wrote it where that was in this dialect, and complete in any case. */
const message = (said: JsonObject, tell: Told): JsonObject => {
  const { asked = {} } = tell;
  const parley = { ...tell.parley, priority: tell.priority === 'critical' ? tell.priority : undefined };
  return {
    version: VERSION,
    timestamp: iso(tell.timestamp),
    evidence: evidenceOf(tell.from, tell.confidence),
    type: tell.type,
    context: asked.context ?? { sessionId: tell.thread, requestId: tell.thread, locale: 'en-US', timezone: 'UTC' },
    from: partyOf(tell.from),
    ...said,
    id: spelled(said.id, tell.id),
    to: asked.from ?? said.to ?? partyOf(tell.to),
    replyTo: asked.id ?? said.replyTo ?? tell.replyTo,
    payload: { ...PLAIN, ...languageOf(asked), ...objectIn(said.payload), content: tell.content },
    priority: said.priority ?? (tell.priority === 'critical' ? 'high' : tell.priority),
    ttl: said.ttl ?? tell.ttl,
    retryCount: tell.retryCount ?? numberIn(said.retryCount),
    ...(Object.values(parley).some((value) => value !== undefined) ? { parley } : {}),
  };
};

const PLAIN = { format: 'json', language: 'en', encoding: 'utf-8' };

const languageOf = ({ payload }: JsonObject): JsonObject => {
  const { language } = objectIn(payload);
  return language === undefined ? {} : { language };
};

/** The id as it was sent, unless the message had to be given another. */
const spelled = (sent: Json | undefined, id: string): string =>
  typeof sent === 'string' && canonicalId(sent) === id ? sent : id;

/** The task's own id, where it had to be given another. */
const unsaid = (taskId: string): string | undefined => (asUuid(taskId) === taskId ? undefined : taskId);

const partyOf = (agentId: string): JsonObject => ({ agentId, instanceId: agentId });

const failureOf = ({ status, task, error }: Outcome): JsonObject => {
  if (status === 'cancelled') {
    const text = `The task ${task.id} was cancelled.`;
    return { code: 'VALIDATION_FAILED', message: text, recoverable: false, parley: { code: 'cancelled' } };
  }
  if (status === 'expired') {
    return { code: 'TIMEOUT', message: `Nobody claimed the task within ${task.ttlSeconds} s.`, recoverable: true };
  }
  return told(error ?? { code: 'internal_error', message: 'The task failed.', retryable: false });
};

/** The nearest of this dialect's codes, and beside it the code that was said. */
const told = (error: NonNullable<Outcome['error']>): JsonObject => {
  const code = codeFor(error);
  const { suggestion, ...details } = error.details ?? {};
  return {
    code,
    message: error.message,
    details: Object.keys(details).length > 0 ? details : undefined,
    recoverable: error.retryable,
    suggestion,
    parley: code === error.code ? undefined : { code: error.code, retryAfterSeconds: error.retryAfterSeconds },
  };
};

/** What `decode` put aside; what came in another dialect has nothing there. */
const own = (carried: JsonObject): JsonObject => objectIn(carried[NAME]);

const foreign = ({ [NAME]: _own, ...rest }: JsonObject): JsonObject => rest;

const numberIn = (value: Json | undefined): number => (typeof value === 'number' ? value : 0);
