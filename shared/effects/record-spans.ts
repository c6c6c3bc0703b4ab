import type { Deps } from '../identity/deps.ts';
import { deriveSpanId, getSpanContext, isSampled, type Span } from '../kernel/span.ts';
import { isAssigned, isTask, type Task } from '../model/task.ts';
import { isTurn, type Turn } from '../model/turn.ts';
import type { RecordChange } from '../ports/records.ts';
import { computeTaskEvents } from './task-effects.ts';

/** What happened to tasks and turns, as spans of their traces. */
export const recordSpans = ({ spans }: Deps, changes: readonly RecordChange[]): void => {
  if (spans) spans.add(changes.flatMap(computeSpans));
};

const computeSpans = ({ before, after }: RecordChange): Span[] => {
  if (after && isTask(after) && isSampled(after)) return computeTaskSpans(before as Task | undefined, after);
  if (after && isTurn(after) && isSampled(after)) return computeTurnSpans(before as Turn | undefined, after);
  return [];
};

const FAILED: ReadonlySet<string> = new Set(['failed', 'expired', 'retrying']);
/** By its holder. Others end a task without it. */
const SETTLED: ReadonlySet<string> = new Set(['completed', 'failed', 'retrying', 'released']);

const computeTaskSpans = (before: Task | undefined, after: Task): Span[] => {
  const work: TracedWork = { record: after, destination: after.capability, key: `${after.id} ${after.v}` };
  if (!before) return [buildSendSpan(work)];
  const types = computeTaskEvents(before, after);
  const isClaimed = types.includes('task.claimed');
  if (!isClaimed && (!isAssigned(before) || isAssigned(after))) return [];
  const agent = after.holder ?? before.holder ?? after.error?.agent;
  const attempt = isClaimed ? after.attempt : before.attempt;
  const claimedAt = (isClaimed ? after.claimedAt : before.claimedAt) ?? after.at;
  const queuedAt = Math.max(before.queuedAt, before.notBefore ?? 0);
  const spans = isClaimed ? [buildReceiveSpan(work, { start: queuedAt, end: claimedAt, agent, attempt })] : [];
  if (isAssigned(after)) return spans;
  const outcome = types.at(-1)?.slice('task.'.length) ?? after.status;
  const error = FAILED.has(outcome) ? (after.error?.code ?? outcome) : undefined;
  const end = { start: claimedAt, end: after.at, agent, attempt, error };
  return [...spans, ...buildEndSpans(work, { ...end, outcome, isSettled: SETTLED.has(outcome) })];
};

/** A turn of a task has the spans of the task. One that runs as a task has them from there on. */
const computeTurnSpans = (before: Turn | undefined, after: Turn): Span[] => {
  if (after.task !== undefined) return [];
  const work: TracedWork = { record: after, destination: after.agent, key: after.id };
  const spans = before ? [] : [buildSendSpan(work)];
  if (after.isRunAsTask || after.leasedAt === undefined) return spans;
  const { leasedAt, end, createdAt, agent } = after;
  if (before?.leasedAt === undefined) spans.push(buildReceiveSpan(work, { start: createdAt, end: leasedAt, agent }));
  if (!end || before?.end) return spans;
  const error = end.status === 'success' || end.status === 'partial' ? undefined : (end.errorCode ?? end.status);
  const times = { start: leasedAt, end: end.at };
  return [...spans, ...buildEndSpans(work, { ...times, agent, error, outcome: end.status, isSettled: true })];
};

interface TracedWork {
  record: Task | Turn;
  destination: string;
  /** Of what happened to it: the same again has the same ids. */
  key: string;
}

interface AgentWork extends Pick<Span, 'start' | 'end' | 'error'> {
  agent: string | undefined;
  attempt?: number;
}

/** The trace context of a record is that of the span that sent it, and all that follows is below it. */
const buildSendSpan = (work: TracedWork): Span => {
  const { createdAt: start, at: end, from: agent, parentSpan } = work.record;
  const span = buildSpan(work, 'send', { start, end, agent });
  return { ...span, spanId: span.parentSpanId ?? '', parentSpanId: parentSpan, kind: 'producer' };
};

/** From when it could be claimed. */
const buildReceiveSpan = (work: TracedWork, done: AgentWork): Span => buildSpan(work, 'receive', done);

const buildEndSpans = (
  work: TracedWork,
  { outcome, isSettled, ...done }: AgentWork & { outcome: string; isSettled: boolean },
): Span[] => {
  const span = buildSpan(work, 'process', done);
  const process: Span = {
    ...span,
    kind: 'consumer',
    attributes: { ...span.attributes, ...describeAgent(done.agent), 'error.type': done.error },
  };
  if (!isSettled) return [process];
  const settle = buildSpan(work, 'settle', { ...done, start: done.end, error: undefined });
  const attributes = { ...settle.attributes, 'messaging.operation.name': outcome };
  return [process, { ...settle, parentSpanId: process.spanId, attributes }];
};

/** https://opentelemetry.io/docs/specs/semconv/messaging/messaging-spans/ */
const buildSpan = (
  { record, destination, key }: TracedWork,
  operation: 'send' | 'receive' | 'process' | 'settle',
  { start, end, error, agent, attempt }: AgentWork,
): Span => {
  const { spanId: parentSpanId, ...context } = getSpanContext(record);
  const spanId = deriveSpanId(`${operation} ${key}`);
  const conversation = isTask(record) ? record.conversation : undefined;
  const attributes = {
    'messaging.system': 'parley',
    'messaging.operation.type': operation,
    'messaging.operation.name': operation,
    'messaging.destination.name': destination,
    'messaging.message.id': record.id,
    'messaging.message.conversation_id': conversation,
    'messaging.client.id': agent,
    'gen_ai.conversation.id': conversation,
    'parley.project': record.project,
    'parley.attempt': attempt,
    ...(isTask(record)
      ? { 'parley.domain': record.domain, 'parley.dialect': record.dialect, 'parley.priority': record.priority }
      : { 'parley.channel': record.channel }),
  };
  const name = `${operation} ${destination}`;
  return { ...context, spanId, parentSpanId, name, kind: 'client', start, end, error, attributes };
};

const describeAgent = (agent: string | undefined): Span['attributes'] => ({
  'gen_ai.operation.name': 'invoke_agent',
  'gen_ai.agent.id': agent,
  'gen_ai.agent.name': agent,
});
