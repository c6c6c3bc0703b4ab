import { SYSTEM_SENDER, toVisibleAsciiId } from '../../kernel/ids.ts';
import { type Json, type JsonObject, toObjectOrEmpty } from '../../kernel/json/json.ts';
import type { Trace } from '../../kernel/trace.ts';
import { isCancelled, type TaskOutcome } from '../../model/delivery.ts';
import type { DirectMessage } from '../../model/direct-message.ts';
import type { ReportedTask, Task } from '../../model/task.ts';
import { toIso } from '../../ports/clock.ts';
import { buildHeaders, withTrace } from './build-headers.ts';
import { buildExtensionHeaders } from './context-headers.ts';
import { parseExtensions, type TaskExtensions } from './extensions.ts';
import { formatAgentSubject, type SubjectCategory } from './subject.ts';
import { toVersion } from './versions.ts';

/** A command is given on as it came; any other task is a turn of whoever claimed it. */
export const encodeRequest = (task: Task, input: Json, results?: JsonObject): JsonObject => {
  const { subject, headers, ...about } = parseExtensions(task.extensions);
  if (subject !== undefined) return { subject, headers: withTrace(headers ?? {}, task.traceparent), payload: input };
  const target = task.to ?? task.holder ?? SYSTEM_SENDER;
  const turn = buildMessage(task, about, ['cmd', target, 'turn'], task.createdAt, task.from, {
    correlation_id: toVisibleAsciiId(task.id),
    mode: 'call',
    channel_id: about.channel,
    recursion_depth: about.depth,
    payload: buildTurnPayload(task, input, results),
  });
  return { ...turn, headers: { ...toObjectOrEmpty(turn.headers), ...buildExtensionHeaders(task) } };
};

/** What a task asks for, in the words of a turn; what the protocol has none for stands under `parley`. */
export const buildTurnPayload = (task: Task, input: Json, results?: JsonObject): JsonObject => ({
  capability: task.capability,
  input,
  ...(results && { results }),
  priority: task.priority,
  ttl_seconds: task.ttlSeconds,
  from: task.from,
  parley: {
    ...pickForeignExtensions(task.extensions),
    attempt: task.attempt,
    parent: task.parent,
    chain: task.delegationChain,
    retry: task.retry && { ...task.retry },
    lastError: task.error && { ...task.error },
  },
});

export const encodeReport = (task: ReportedTask): JsonObject => {
  const { percent, message: said } = task.progress ?? {};
  const holder = task.holder ?? SYSTEM_SENDER;
  return buildMessage(task, parseExtensions(task.extensions), ['evt', holder, 'state'], task.at, holder, {
    agent_id: holder,
    agent_turn_id: task.id,
    status: task.status === 'requested' ? 'idle' : task.progress ? 'running' : 'dispatched',
    turn_epoch: task.attempt,
    updated_at: toIso(task.at),
    metadata: { progress: percent, message: said, ...(task.reportId && { parley: { id: task.reportId } }) },
  });
};

const TURN_STATUS_BY_TASK_STATUS: Record<TaskOutcome['status'], string> = {
  waiting: 'idle',
  requested: 'idle',
  claimed: 'running',
  in_progress: 'running',
  input_required: 'suspended',
  completed: 'success',
  failed: 'failed',
  expired: 'timeout',
  cancelled: 'canceled',
};

/** How a task ended is the task event of a turn; that it asks, or was answered, is a state. */
export const encodeOutcome = (
  outcome: TaskOutcome,
  output: Json | undefined,
  artifacts: JsonObject[] | undefined,
  deliverable?: string,
): JsonObject => {
  const { task, status, from, error, prompt, answer } = outcome;
  const about = parseExtensions(task.extensions);
  const agent = task.holder ?? from;
  if (status === 'input_required' || status === 'claimed') {
    return buildMessage(task, about, ['evt', agent, 'state'], outcome.happenedAt, from, {
      agent_id: agent,
      agent_turn_id: task.id,
      status: TURN_STATUS_BY_TASK_STATUS[status],
      turn_epoch: task.attempt,
      updated_at: toIso(outcome.happenedAt),
      metadata: { input: { ...prompt, answer }, parley: { id: outcome.id } },
    });
  }
  return buildMessage(task, about, ['evt', agent, 'task'], outcome.happenedAt, from, {
    agent_turn_id: task.id,
    status: TURN_STATUS_BY_TASK_STATUS[isCancelled(outcome) ? 'cancelled' : status],
    deliverable_card_id: deliverable,
    error: error?.message,
    error_code: error?.code ?? (status === 'completed' ? undefined : TURN_STATUS_BY_TASK_STATUS[status]),
    metadata: {
      parley: {
        id: outcome.id,
        output,
        artifacts,
        retryable: error?.retryable,
        details: error?.details,
        ...pickForeignExtensions(outcome.extensions),
      },
    },
  });
};

export const encodeDirectMessage = (directMessage: DirectMessage, content: Json): JsonObject => {
  const { subject, headers = {}, ...about } = parseExtensions(directMessage.extensions);
  const { from, createdAt, traceparent } = directMessage;
  if (subject !== undefined) return { subject, headers: withTrace(headers, traceparent), payload: content };
  return buildMessage(directMessage, about, ['evt', from, 'message'], createdAt, from, {
    message_id: directMessage.id,
    type: directMessage.type,
    to: directMessage.to,
    content,
    metadata: { parley: pickForeignExtensions(directMessage.extensions) },
  });
};

const pickForeignExtensions = ({ commonGround: _own, ...carried }: JsonObject): JsonObject => carried;

const buildMessage = (
  of: Trace & { project: string },
  { channel, depth, protocolVersion }: Pick<TaskExtensions, 'channel' | 'depth' | 'protocolVersion'>,
  [category, target, suffix]: [SubjectCategory, string, string],
  at: number,
  sender: string,
  payload: JsonObject,
): JsonObject => {
  const subject = formatAgentSubject({ project: of.project, channel }, category, target, suffix);
  const headers = buildHeaders({ ...of, at, type: `${category}.agent.${suffix}`, sender, depth });
  return toVersion({ subject, headers, payload }, protocolVersion);
};
