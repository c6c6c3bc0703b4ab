import { randomUUID } from 'node:crypto';
import { toVisibleAsciiId } from '../../shared/kernel/ids.ts';
import type { Reply, TestAgent } from './api.ts';
import { type Held, madeCard, Worker } from './ground.ts';
import type { Kind, Speaker, Wire } from './speakers.ts';

/** The turns that agents have in hand, which every call must name. */
const inHand = new WeakMap<TestAgent, Held>();

/** What it says of its turn is a call of /v1/turns, with a card to deliver where it has one. */
const advance = async (agent: TestAgent, { verb, content, ...said }: Wire): Promise<Reply> => {
  const held = inHand.get(agent);
  if (!held) throw new Error(`${agent.id} has no turn in hand`);
  const card = content && { deliverable_card_id: await madeCard(agent, 'task.deliverable', content) };
  const reply = await new Worker(agent).say(held, verb, { ...said, ...card });
  return { ...reply, status: reply.status === 200 && !reply.body.duplicate ? 202 : reply.status };
};

const lease = async (agent: TestAgent): Promise<Held | undefined> => {
  const worker = new Worker(agent);
  const held = await worker.lease();
  if (!held) return undefined;
  await worker.ok(held, 'start');
  inHand.set(agent, held);
  return held;
};

export const commonGround: Speaker = {
  dialect: 'common-ground',
  request: (_from, to, payload) => ({
    subject: `cg.v1r3.default.public.cmd.agent.${to}.turn`,
    payload: { correlation_id: randomUUID(), mode: 'call', payload },
  }),
  asked: { capability: 'common-ground.turn', priority: 'normal', ttlSeconds: 604_800 },
  nameOf: toVisibleAsciiId,
  calledIn: ({ inbox: [{ correlation_id }] }) => correlation_id,
  claim: async (agent) => {
    const held = await lease(agent);
    const [{ traceparent, baggage, headers }] = held?.inbox ?? [{}];
    const { 'CG-Context-ID': conversationId, 'CG-User-ID': user } = headers ?? {};
    return held && { message: held, beside: { traceparent, baggage, conversationId, user } };
  },
  take: (agent) => lease(agent),
  say: advance,
  idIn: ({ payload: { message_id, metadata } }) => message_id ?? metadata.parley.id,
  readRequest: ({ inbox: [{ payload }] }) => ({
    from: payload.from,
    capability: payload.capability,
    priority: payload.priority,
    ttlSeconds: payload.ttl_seconds,
    input: payload.input,
  }),
  progress: (_talk, progress, message) => ({
    verb: 'step',
    step_id: 's1',
    phase: 'thinking',
    metadata: { progress, message },
  }),
  readProgress: ({ payload: { agent_turn_id, metadata } }) => ({
    taskId: agent_turn_id,
    percent: metadata.progress,
    text: metadata.message,
  }),
  complete: (_talk, content) => ({ verb: 'deliver', status: 'success', content }),
  readResult: ({ headers, payload: { status, agent_turn_id, metadata } }) => ({
    kind: status,
    taskId: agent_turn_id,
    from: headers['CG-Sender'],
    output: metadata.parley.output,
  }),
  fail: (_talk, code, error) => ({
    verb: 'deliver',
    status: code === 'timeout' ? 'timeout' : 'failed',
    error,
    error_code: code,
    content: {},
  }),
  readFailure: ({ payload: { status, agent_turn_id, error, error_code, metadata } }) => ({
    kind: status,
    taskId: agent_turn_id,
    code: error_code,
    retryable: metadata.parley.retryable,
    text: error,
    original: error_code,
  }),
  readNote: ({ headers, payload: { type, content } }) => ({ type, from: headers['CG-Sender'], content }),
  belongingTo: (request, { conversationId, user }) => ({
    ...request,
    headers: { 'CG-Context-ID': conversationId, 'CG-User-ID': user },
  }),
  readLastError: ({ inbox: [{ payload }] }) => payload.parley.lastError.message,
  readArtifacts: ({ payload }) => payload.metadata.parley.artifacts,
  kindOf: ({ payload: { status } }) => KINDS[status] ?? 'failure',
  readQuestion: ({ headers, payload }) => ({ from: headers['CG-Sender'], text: payload.metadata.input.prompt }),
};

const KINDS: Record<string, Kind> = {
  dispatched: 'claim',
  running: 'progress',
  suspended: 'question',
  success: 'result',
  canceled: 'cancel',
};
