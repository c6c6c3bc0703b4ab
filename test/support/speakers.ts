import { toShortId, toUuid } from '../../shared/kernel/ids.ts';
import { agentOsMessage, content, evidence } from './agent-os-agent.ts';
import { about, type Reply, type TestAgent, taskRequest } from './api.ts';
import { commonGround } from './ground-speaker.ts';
import { mrMessage } from './message-routing.ts';
import { tfRequest } from './task-format.ts';

export type Wire = Reply['body'];

export interface Failure {
  code: string;
  retryable: boolean;
}

interface Talk {
  from: TestAgent;
  to: string;
  taskId: string;
}

/** What an agent of a dialect says of a task, and what it understands, in words that are the same for all. */
export interface Speaker {
  dialect: string;
  /** As urgent as the dialect can say, and with as little time as it can. */
  request(from: string, to: string, input: object): Record<string, unknown>;
  asked: { capability: string; priority: string; ttlSeconds: number };
  /** What others find of an input, and of an output, where the dialect puts it into more words. */
  inputOf?(input: object): object;
  outputOf?(output: object): object;
  /** What it calls a task. */
  nameOf(taskId: string): string;
  /** Takes up the next task that is for the agent, and says something of it. */
  take(agent: TestAgent): Promise<Wire | undefined>;
  say(agent: TestAgent, said: Wire): Promise<Reply>;
  /** What a task that was taken up is called, and by which id a message in the inbox is acknowledged. */
  calledIn(taken: Wire): string;
  idIn(message: Wire): string;
  readRequest(message: Wire): {
    from: string;
    capability: string;
    priority: string;
    ttlSeconds: number;
    input: unknown;
  };
  progress(talk: Talk, percent: number, text: string): object;
  readProgress(message: Wire): { taskId: string; percent: number; text: string };
  complete(talk: Talk, output: object): object;
  readResult(message: Wire): { kind: string; taskId: string; from: string; output: unknown };
  fail(talk: Talk, code: string, text: string, attempt: number): object;
  readFailure(message: Wire): Failure & { kind: string; taskId: string; text: string; original: string };
  readNote(message: Wire): { type: string; from: string; content: unknown };
}

/** As most do it: with POST /v1/claims and POST /v1/messages. */
const byMessages: Pick<Speaker, 'take' | 'say' | 'calledIn' | 'idIn'> = {
  take: async (agent) => (await agent.claim())[0]?.message,
  say: (agent, said) => agent.send(said),
  calledIn: ({ msg_id, id }) => msg_id ?? id,
  idIn: ({ msg_id, signalId, id }) => msg_id ?? signalId ?? id,
};

const roundTable: Speaker = {
  dialect: 'round-table',
  ...byMessages,
  nameOf: toUuid,
  request: (from, to, params) =>
    taskRequest(from, { to, priority: 'critical', ttl: 3000, payload: { task: 'security.briefing', params } }),
  asked: { capability: 'security.briefing', priority: 'critical', ttlSeconds: 3000 },
  readRequest: ({ from, priority, ttl, payload, parley }) => ({
    from,
    capability: parley?.capability ?? payload.task,
    priority,
    ttlSeconds: ttl,
    input: payload.params,
  }),
  progress: ({ from, taskId }, percent, message) => about('task.progress', from.id, taskId, { percent, message }),
  readProgress: ({ correlationId, payload: { percent, message } }) => ({
    taskId: correlationId,
    percent,
    text: message,
  }),
  complete: ({ from, taskId }, result) => about('task.result', from.id, taskId, { status: 'completed', result }),
  readResult: ({ type, correlationId, from, payload }) => ({
    kind: type,
    taskId: correlationId,
    from,
    output: payload.result,
  }),
  fail: ({ from, taskId }, error, message) => about('task.failed', from.id, taskId, { error, message }),
  readFailure: ({ type, correlationId, payload }) => ({
    kind: type,
    taskId: correlationId,
    code: payload.error,
    retryable: payload.retryable,
    text: payload.message,
    original: payload.parley?.code ?? payload.error,
  }),
  readNote: ({ from, payload }) => ({ type: payload.type, from, content: payload.content }),
};

const agentOs: Speaker = {
  dialect: 'agent-os',
  ...byMessages,
  nameOf: toUuid,
  request: (from, to, input) =>
    agentOsMessage('query', from, to, { priority: 'high', ttl: 3000, payload: content(input) }),
  asked: { capability: 'agent-os.query', priority: 'high', ttlSeconds: 3000 },
  readRequest: ({ type, from, priority, ttl, payload, parley }) => ({
    from: from.agentId,
    capability: type === 'command' ? payload.content.command : `agent-os.${type}`,
    priority: parley?.priority ?? priority,
    ttlSeconds: ttl,
    input: type === 'command' ? payload.content.parameters : payload.content,
  }),
  progress: ({ from, to, taskId }, percent, message) =>
    agentOsMessage('event', from.id, to, { replyTo: taskId, payload: content({ percent, message }) }),
  readProgress: ({ replyTo, payload: { content: said } }) => ({
    taskId: replyTo,
    percent: said.percent,
    text: said.message,
  }),
  complete: ({ from, to, taskId }, output) =>
    agentOsMessage('response', from.id, to, { replyTo: taskId, payload: content(output), evidence: evidence() }),
  readResult: ({ type, replyTo, from, payload }) => ({
    kind: type,
    taskId: replyTo,
    from: from.agentId,
    output: payload.content,
  }),
  fail: ({ from, to, taskId }, code, message) =>
    agentOsMessage('error', from.id, to, { replyTo: taskId, payload: content({ code, message }) }),
  readFailure: ({ type, replyTo, payload: { content: said } }) => ({
    kind: type,
    taskId: replyTo,
    code: said.code,
    retryable: said.recoverable,
    text: said.message,
    original: said.parley?.code ?? said.code,
  }),
  readNote: ({ type, from, payload }) => ({ type: `agent-os.${type}`, from: from.agentId, content: payload.content }),
};

const taskFormat: Speaker = {
  dialect: 'task-format',
  ...byMessages,
  nameOf: (taskId) => taskId,
  request: (_from, target, payload) => tfRequest({ payload, context: { priority: 'urgent' }, routing: { target } }),
  asked: { capability: 'parse_recipe', priority: 'critical', ttlSeconds: 3600 },
  readRequest: ({ type, payload, context, routing }) => ({
    from: routing.source,
    capability: type,
    priority: context.priority === 'urgent' ? 'critical' : context.priority,
    ttlSeconds: context.parley?.ttlSeconds ?? 3600,
    input: payload,
  }),
  progress: ({ taskId }, progress, message) => ({ id: taskId, status: 'in_progress', metadata: { progress, message } }),
  readProgress: ({ id, metadata }) => ({ taskId: id, percent: metadata.progress, text: metadata.message }),
  complete: ({ taskId }, result) => ({ id: taskId, status: 'completed', result }),
  readResult: ({ status, id, metadata, result }) => ({
    kind: status,
    taskId: id,
    from: metadata.agent,
    output: result,
  }),
  fail: ({ taskId }, code, message, retryCount) => ({
    id: taskId,
    status: 'failed',
    error: { code, message },
    metadata: { retryCount },
  }),
  readFailure: ({ status, id, error, metadata }) => ({
    kind: status,
    taskId: id,
    code: error.code,
    retryable: error.recoverable,
    text: error.message,
    original: metadata.parley.errorCode ?? error.code,
  }),
  readNote: ({ type, from, payload }) => ({ type, from, content: payload }),
};

const DELEGATED = { task: 'The daily briefing', context: { deadline: '2026-02-08T15:50:00.000Z' } };
const DONE = { status: 'success', deliverables: { files_modified: ['/a.ts'] }, metrics: { confidence: 0.9 } };

const messageRouting: Speaker = {
  dialect: 'message-routing',
  ...byMessages,
  request: (from, to, input) => {
    const message = mrMessage('task-delegation', from, to, { priority: 9, payload: { ...DELEGATED, ...input } });
    return { ...message, timestamp: '2026-02-08T15:00:00.000Z' };
  },
  asked: { capability: 'message-routing.task-delegation', priority: 'critical', ttlSeconds: 3000 },
  inputOf: (input) => ({ ...DELEGATED, ...input }),
  outputOf: (output) => ({ ...DONE, ...output }),
  nameOf: toShortId,
  readRequest: ({ from, timestamp, priority, payload: { task, context, parley } }) => ({
    from,
    capability: task,
    priority: { 10: 'critical', 8: 'high', 5: 'normal', 1: 'low' }[String(priority)] ?? '',
    ttlSeconds: (Date.parse(context.deadline) - Date.parse(timestamp)) / 1000,
    input: parley.input,
  }),
  progress: ({ from, to, taskId }, percent, message) =>
    mrMessage('status-update', from.id, to, {
      correlation_id: taskId,
      payload: { status: 'in_progress', progress: percent / 100, message },
    }),
  readProgress: ({ correlation_id, payload }) => ({
    taskId: correlation_id,
    percent: payload.progress * 100,
    text: payload.message,
  }),
  complete: ({ from, to, taskId }, output) =>
    mrMessage('result', from.id, to, { correlation_id: taskId, payload: { ...DONE, ...output } }),
  readResult: ({ type, correlation_id, from, payload }) => ({
    kind: `${type} ${payload.status}`,
    taskId: correlation_id,
    from,
    output: payload.parley.output,
  }),
  fail: ({ from, to, taskId }, status, message) =>
    mrMessage('result', from.id, to, { correlation_id: taskId, payload: { status, issues: [message] } }),
  readFailure: ({ type, correlation_id, payload }) => ({
    kind: `${type} ${payload.status}`,
    taskId: correlation_id,
    code: payload.status,
    retryable: payload.parley.error.retryable,
    text: payload.issues[0],
    original: payload.parley.error.code,
  }),
  readNote: ({ from, payload }) => ({ type: payload.parley.type, from, content: payload.parley.content }),
};

export const speakers: readonly Speaker[] = [roundTable, agentOs, taskFormat, messageRouting, commonGround];
