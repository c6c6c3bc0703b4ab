import { randomUUID } from 'node:crypto';
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

/** A task as its holder gets it, with what stands beside the message. */
export interface Claimed {
  message: Wire;
  beside: { traceparent?: string; baggage?: string; conversationId?: string; user?: string };
}

/** To what a task belongs, in the words of `POST /v1/claims`. */
export interface Belonging {
  conversationId: string;
  user: string;
}

/** What a message in an inbox tells of a task. */
export type Kind = 'claim' | 'progress' | 'question' | 'result' | 'failure' | 'cancel';

/** What an agent of a dialect says of a task, and what it understands, in words that are the same for all. */
export interface Speaker {
  dialect: string;
  /** As urgent as the dialect can say, and with as little time as it can. */
  request(from: string, to: string, input: object): Record<string, unknown>;
  asked: { capability: string; priority: string; ttlSeconds: number };
  /** The request with what it belongs to, where the dialect has a place for that. */
  belongingTo?(request: Wire, to: Belonging): object;
  readBelonging?(message: Wire): Belonging;
  /** What others find of an input, and of an output, where the dialect puts it into more words. */
  inputOf?(input: object): object;
  outputOf?(output: object): object;
  /** What it calls a task. */
  nameOf(taskId: string): string;
  /** Takes up the next task that is for the agent. */
  claim(agent: TestAgent): Promise<Claimed | undefined>;
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
  /** What the earlier attempt failed of. */
  readLastError(message: Wire): string;
  withArtifacts?(result: Wire, artifacts: object[]): object;
  readArtifacts(message: Wire): object[];
  kindOf(message: Wire): Kind;
  /** How its holders ask, where they can. */
  ask?(talk: Talk, text: string): object;
  readQuestion(message: Wire): { from: string; text: string };
  /** How its requesters answer what they read; otherwise they call POST /v1/tasks/{id}/input. */
  answer?(talk: Talk, question: Wire, text: string): Wire;
  /** What others find of such an answer. */
  answerOf?(text: string): unknown;
  readAnswer?(message: Wire): unknown;
}

/** As most do it: with POST /v1/claims and POST /v1/messages. */
const byMessages: Pick<Speaker, 'claim' | 'take' | 'say' | 'calledIn' | 'idIn'> = {
  claim: async (agent) => {
    const [task] = await agent.claim();
    if (!task) return undefined;
    const { message, traceparent, baggage, conversationId, user } = task;
    return { message, beside: { traceparent, baggage, conversationId, user } };
  },
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
  readLastError: ({ parley }) => parley.lastError.message,
  readArtifacts: ({ payload }) => payload.parley.artifacts,
  kindOf: ({ type, payload }) => {
    if (payload.parley?.status === 'input_required') return 'question';
    if (payload.error === 'cancelled') return 'cancel';
    return ROUND_TABLE_KINDS[type] ?? 'failure';
  },
  readQuestion: ({ from, payload }) => ({ from, text: payload.message }),
  answer: ({ from, taskId }, _question, text) =>
    about('task.result', from.id, taskId, { status: 'completed', result: { content: text } }),
  answerOf: (text) => ({ content: text }),
};

const ROUND_TABLE_KINDS: Record<string, Kind> = {
  'task.claimed': 'claim',
  'task.progress': 'progress',
  'task.result': 'result',
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
  belongingTo: (request, { conversationId, user }) => ({
    ...request,
    context: { ...request.context, conversationId, userId: user },
  }),
  readBelonging: ({ context }) => ({ conversationId: context.conversationId, user: context.userId }),
  readLastError: ({ parley }) => parley.lastError.message,
  readArtifacts: ({ parley }) => parley.artifacts,
  kindOf: ({ type, payload }) => {
    if (type === 'event') return payload.content.status === 'claimed' ? 'claim' : 'progress';
    if (payload.content.code === 'CANCELLED') return 'cancel';
    return AGENT_OS_KINDS[type] ?? 'failure';
  },
  ask: ({ from, to, taskId }, question) =>
    agentOsMessage('query', from.id, to, { replyTo: taskId, payload: content({ question }) }),
  readQuestion: ({ from, payload }) => ({ from: from.agentId, text: payload.content.question }),
  answer: ({ from, to }, { id }, text) =>
    agentOsMessage('response', from.id, to, { replyTo: id, payload: content(text), evidence: evidence() }),
  readAnswer: ({ payload }) => payload.content,
};

const AGENT_OS_KINDS: Record<string, Kind> = { query: 'question', response: 'result' };

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
  belongingTo: (request, belonging) => ({ ...request, context: { ...request.context, ...belonging } }),
  readBelonging: ({ context: { conversationId, user } }) => ({ conversationId, user }),
  readLastError: ({ context }) => context.parley.lastError.message,
  withArtifacts: (result, artifacts) => ({ ...result, artifacts }),
  readArtifacts: ({ artifacts }) => artifacts,
  kindOf: ({ status }) => TASK_FORMAT_KINDS[status] ?? 'failure',
  ask: ({ taskId }, prompt) => ({ id: taskId, status: 'input_required', input: { prompt } }),
  readQuestion: ({ metadata, input }) => ({ from: metadata.agent, text: input.prompt }),
  answer: (_talk, { id }, input) => ({ id, input }),
  readAnswer: ({ input }) => input.answer,
};

const TASK_FORMAT_KINDS: Record<string, Kind> = {
  pending: 'claim',
  in_progress: 'progress',
  input_required: 'question',
  completed: 'result',
  cancelled: 'cancel',
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
  readLastError: ({ payload }) => payload.parley.lastError.message,
  readArtifacts: ({ payload }) => payload.parley.artifacts,
  kindOf: ({ type, from, payload }) => {
    if (type === 'status-update' && payload.status === 'blocked') return 'question';
    if (type === 'status-update') return from === 'parley' || payload.parley?.claim ? 'claim' : 'progress';
    if (payload.parley.status === 'cancelled') return 'cancel';
    return payload.status === 'success' ? 'result' : 'failure';
  },
  ask: ({ from, to, taskId }, message) =>
    mrMessage('status-update', from.id, to, { correlation_id: taskId, payload: { status: 'blocked', message } }),
  readQuestion: ({ from, payload }) => ({ from, text: payload.message }),
  answer: ({ from, to }, { msg_id }, message) =>
    mrMessage('status-update', from.id, to, {
      correlation_id: msg_id,
      payload: { status: 'in_progress', message },
    }),
  answerOf: (message) => ({ status: 'in_progress', message }),
  readAnswer: ({ payload }) => payload.parley.input.answer,
};

const native: Speaker = {
  dialect: 'native',
  ...byMessages,
  nameOf: (taskId) => taskId,
  request: (_from, to, input) => ({
    kind: 'request',
    id: randomUUID(),
    capability: 'summarize',
    to,
    input,
    priority: 'critical',
    ttlSeconds: 3000,
  }),
  asked: { capability: 'summarize', priority: 'critical', ttlSeconds: 3000 },
  belongingTo: (request, { conversationId, user }) => ({ ...request, conversation: conversationId, user }),
  readBelonging: ({ conversation, user }) => ({ conversationId: conversation, user }),
  readRequest: ({ from, capability, priority, ttlSeconds, input }) => ({
    from,
    capability,
    priority,
    ttlSeconds,
    input,
  }),
  progress: ({ taskId }, percent, message) => ({ kind: 'progress', taskId, percent, message }),
  readProgress: ({ taskId, percent, message }) => ({ taskId, percent, text: message }),
  complete: ({ taskId }, output) => ({ kind: 'result', taskId, output }),
  readResult: ({ kind, taskId, from, output }) => ({ kind, taskId, from, output }),
  fail: ({ taskId }, code, message) => ({
    kind: 'failure',
    id: randomUUID(),
    taskId,
    code,
    message,
    retryable: code === 'busy',
  }),
  readFailure: ({ kind, taskId, code, retryable, message }) => ({
    kind,
    taskId,
    code,
    retryable,
    text: message,
    original: code,
  }),
  readNote: ({ type, from, content: said }) => ({ type, from, content: said }),
  readLastError: ({ lastError }) => lastError.message,
  withArtifacts: (result, artifacts) => ({ ...result, artifacts }),
  readArtifacts: ({ artifacts }) => artifacts,
  kindOf: ({ kind, status }) => (status === 'cancelled' ? 'cancel' : kind),
  ask: ({ taskId }, prompt) => ({ kind: 'question', taskId, prompt }),
  readQuestion: ({ from, prompt }) => ({ from, text: prompt }),
  answer: (_talk, { taskId }, answer) => ({ kind: 'answer', taskId, answer }),
  readAnswer: ({ answer }) => answer,
};

const A2A_STATES: Record<string, Kind> = {
  TASK_STATE_COMPLETED: 'result',
  TASK_STATE_INPUT_REQUIRED: 'question',
  TASK_STATE_CANCELED: 'cancel',
};

const textOf = (message: Wire) => message.parts.map(({ text }: { text?: string }) => text).join('');
const statusUpdate = (taskId: string, state: string, text: string, parley: object = {}) => ({
  statusUpdate: {
    taskId,
    contextId: taskId,
    status: {
      state: `TASK_STATE_${state}`,
      message: { messageId: randomUUID(), role: 'ROLE_AGENT', parts: [{ text }] },
      timestamp: new Date().toISOString(),
    },
    metadata: { parley },
  },
});

const a2a: Speaker = {
  dialect: 'a2a',
  ...byMessages,
  nameOf: (taskId) => taskId,
  calledIn: ({ message }) => message.taskId,
  idIn: ({ message, statusUpdate: update, task }) => message?.messageId ?? (update ?? task).metadata.parley.messageId,
  request: (_from, to, input) => ({
    message: { messageId: randomUUID(), role: 'ROLE_USER', parts: [{ data: input }] },
    metadata: { parley: { capability: 'summarize', to, priority: 'critical', ttlSeconds: 3000 } },
  }),
  asked: { capability: 'summarize', priority: 'critical', ttlSeconds: 3000 },
  belongingTo: (request, { conversationId, user }) => ({
    message: { ...request.message, contextId: conversationId },
    metadata: { parley: { ...request.metadata.parley, user } },
  }),
  readBelonging: ({ message }) => ({ conversationId: message.contextId, user: message.metadata.parley.user }),
  readRequest: ({ message }) => {
    const { capability, from, priority, ttlSeconds } = message.metadata.parley;
    const [{ data, text }] = message.parts;
    return { from, capability, priority, ttlSeconds, input: data ?? text };
  },
  progress: ({ taskId }, percent, text) => statusUpdate(taskId, 'WORKING', text, { percent }),
  readProgress: ({ statusUpdate: { taskId, status, metadata } }) => ({
    taskId,
    percent: metadata.parley.percent,
    text: textOf(status.message),
  }),
  complete: ({ taskId }, output) => ({
    task: {
      id: taskId,
      contextId: taskId,
      status: { state: 'TASK_STATE_COMPLETED' },
      artifacts: [{ artifactId: 'result', parts: [{ data: output }] }],
    },
  }),
  readResult: ({ task: { id, status, artifacts, metadata } }) => ({
    kind: status.state,
    taskId: id,
    from: metadata.parley.from,
    output: artifacts[0].parts[0].data ?? artifacts[0].parts[0].text,
  }),
  fail: ({ taskId }, code, text) => statusUpdate(taskId, code === 'refused' ? 'REJECTED' : 'FAILED', text, { code }),
  readFailure: ({ task: { id, status, metadata } }) => ({
    kind: status.state,
    taskId: id,
    code: metadata.parley.error.code,
    retryable: metadata.parley.error.retryable,
    text: textOf(status.message),
    original: metadata.parley.error.code,
  }),
  readNote: ({ message }) => ({
    type: message.metadata.parley.type,
    from: message.metadata.parley.from,
    content: message.parts[0].data ?? message.parts[0].text,
  }),
  readLastError: ({ message }) => message.metadata.parley.lastError.message,
  withArtifacts: ({ task }, artifacts) => ({
    task: {
      ...task,
      artifacts: [
        ...task.artifacts,
        ...artifacts.map((artifact: Wire) => ({
          artifactId: artifact.name,
          parts: [{ text: artifact.content, mediaType: artifact.type }],
        })),
      ],
    },
  }),
  readArtifacts: ({ task }) =>
    task.artifacts
      .filter(({ artifactId }: Wire) => artifactId !== 'result')
      .map(({ artifactId: name, parts: [{ text: content, mediaType: type }] }: Wire) => ({ name, type, content })),
  kindOf: ({ message, statusUpdate: update, task }) => {
    if (message) return 'question';
    if (update?.metadata.parley.kind) return update.metadata.parley.kind;
    return A2A_STATES[(update ?? task).status.state] ?? 'failure';
  },
  ask: ({ taskId }, text) => statusUpdate(taskId, 'INPUT_REQUIRED', text),
  readQuestion: ({ statusUpdate: { status, metadata } }) => ({
    from: metadata.parley.from,
    text: textOf(status.message),
  }),
  answer: (_talk, { statusUpdate: { taskId } }, text) => ({
    message: { messageId: randomUUID(), taskId, role: 'ROLE_USER', parts: [{ text }] },
  }),
  readAnswer: ({ message }) => message.parts[0].text ?? message.parts[0].data,
};

/** Another dialect is tested in all pairs by one row. */
export const speakers: readonly Speaker[] = [
  roundTable,
  agentOs,
  taskFormat,
  messageRouting,
  commonGround,
  native,
  a2a,
];
