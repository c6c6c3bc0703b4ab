import * as z from 'zod';
import { A2aArtifact, A2aMessage, TASK_STATES } from '../../../dialects/a2a/schema.ts';
import type { Agent } from '../../../identity/agents/agent.ts';
import type { Deps } from '../../../identity/deps.ts';
import { ParleyError } from '../../../kernel/errors.ts';
import type { JsonObject } from '../../../kernel/json/json.ts';
import { jsonObject, parseOrThrow } from '../../../kernel/json/parse-or-throw.ts';
import { RecentMap } from '../../../kernel/recent-map.ts';
import { type Trace, toTraceHeaders } from '../../../kernel/trace.ts';
import { agentCallSecretRef } from '../../../model/agent-call.ts';
import { PROTOCOL_VERSION } from '../agent-card.ts';

const label = z.string().max(256);

/** What Parley needs of the answers of other servers; the rest of them is ignored. */
const RemoteTask = z.object({
  id: z.string().min(1).max(512),
  contextId: z.string().max(512).optional(),
  status: z.object({
    state: z.enum(TASK_STATES),
    message: A2aMessage.partial().optional(),
    timestamp: label.optional(),
  }),
  artifacts: z.array(A2aArtifact).max(100).optional(),
});
export type RemoteTask = z.output<typeof RemoteTask>;

const SendAnswer = z.object({ task: RemoteTask.optional(), message: A2aMessage.partial().optional() });
export type SendAnswer = z.output<typeof SendAnswer>;

const Card = z.object({
  supportedInterfaces: z
    .array(
      z.object({
        url: z.string(),
        protocolBinding: label,
        protocolVersion: label.optional(),
        tenant: label.optional(),
      }),
    )
    .min(1),
});

/** How to reach an agent. */
interface Endpoint {
  url: string;
  tenant: string | undefined;
}

const CARD_MS = 5 * 60_000;
const MAX_CARDS = 500;
const cards = new RecentMap<string, { until: number; endpoint: Endpoint }>(MAX_CARDS);

/** An error that the other server gave. */
export class RemoteError extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

export const TASK_NOT_FOUND_CODE = -32001;

/** The official operations of another agent, over JSON-RPC. */
export interface RemoteAgent {
  sendMessage(message: JsonObject): Promise<SendAnswer>;
  getTask(id: string): Promise<RemoteTask>;
  findTask(contextId: string): Promise<RemoteTask | undefined>;
  cancelTask(id: string): Promise<void>;
}

/** With the trace of what it is called for. */
export const connectToAgent = async (
  deps: Deps,
  agent: Agent,
  trace: Trace | undefined,
  signal?: AbortSignal,
): Promise<RemoteAgent> => {
  const { authorization } = (await deps.records.get(agentCallSecretRef(agent.project, agent.id))) ?? {};
  const headers = {
    'a2a-version': PROTOCOL_VERSION,
    ...(authorization !== undefined && { authorization }),
    ...(trace && toTraceHeaders(trace)),
  };
  const { url, tenant } = await findEndpoint(deps, agent.url ?? '', headers, signal);
  const call = async (method: string, params: JsonObject): Promise<unknown> => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, tenant } });
    const answer = await send(deps, url, { ...headers, 'content-type': 'application/json' }, body, signal);
    const { error, result } = parseOrThrow(RpcAnswer, answer, 'unreachable', `The answer of ${agent.id}`);
    if (error) throw new RemoteError(error.code, error.message);
    return result;
  };
  const parse = <T>(schema: z.ZodType<T>, value: unknown): T =>
    parseOrThrow(schema, value, 'unreachable', `The answer of ${agent.id}`);
  return {
    sendMessage: async (message) => {
      const configuration = { returnImmediately: true, historyLength: 0 };
      return parse(SendAnswer, await call('SendMessage', { message, configuration }));
    },
    getTask: async (id) => parse(RemoteTask, await call('GetTask', { id, historyLength: 0 })),
    findTask: async (contextId) => {
      const found = await call('ListTasks', { contextId, pageSize: 1, includeArtifacts: true }).catch(() => undefined);
      return z.object({ tasks: z.array(RemoteTask) }).safeParse(found).data?.tasks[0];
    },
    cancelTask: async (id) => {
      await call('CancelTask', { id });
    },
  };
};

const RpcAnswer = z.object({
  result: z.unknown().optional(),
  error: z.object({ code: z.number(), message: z.string() }).optional(),
});

/** From the agent card at the address, or below it. JSON-RPC is what every SDK has. */
const findEndpoint = async (
  deps: Deps,
  address: string,
  headers: Record<string, string>,
  signal: AbortSignal | undefined,
): Promise<Endpoint> => {
  const now = deps.clock.now();
  const known = cards.get(address);
  if (known && known.until > now) return known.endpoint;
  const cardUrl = address.endsWith('.json') ? address : `${address.replace(/\/+$/, '')}/.well-known/agent-card.json`;
  const card = parseOrThrow(
    Card,
    await send(deps, cardUrl, headers, undefined, signal),
    'unreachable',
    'The agent card',
  );
  const found = card.supportedInterfaces.find(
    ({ protocolBinding, protocolVersion = PROTOCOL_VERSION }) =>
      protocolBinding === 'JSONRPC' && protocolVersion.startsWith(PROTOCOL_VERSION),
  );
  if (!found) {
    const message = `The card at ${cardUrl} has no interface of A2A ${PROTOCOL_VERSION} over JSON-RPC.`;
    throw new ParleyError('unreachable', message, { retryable: true });
  }
  const endpoint = { url: found.url, tenant: found.tenant === '' ? undefined : found.tenant };
  cards.set(address, { until: now + CARD_MS, endpoint });
  return endpoint;
};

const send = async (
  { httpSender, config }: Deps,
  url: string,
  headers: Record<string, string>,
  body: string | undefined,
  signal: AbortSignal | undefined,
): Promise<JsonObject> => {
  const { timeoutMs } = config.outbound;
  const method = body === undefined ? 'GET' : 'POST';
  const asked = { method, url, headers, timeoutMs, signal, ...(body !== undefined && { body }) } as const;
  const { status, body: text } = await httpSender.send(asked);
  const parsed = jsonObject.safeParse(parseJson(text)).data;
  // Servers may give an error of JSON-RPC with any status.
  if (parsed && (status < 300 || 'error' in parsed)) return parsed;
  throw new ParleyError('unreachable', `${url} answered ${status}.`, { retryable: true });
};

const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};
