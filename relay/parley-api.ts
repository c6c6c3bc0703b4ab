import { Agent as HttpAgent, request as httpRequest } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import * as z from 'zod';
import type { NatsEnvelope } from '../shared/nats/nats-message.ts';
import { NatsMessage } from '../shared/nats/nats-message.ts';
import { RelayPlan } from '../shared/nats/relay-plan.ts';
import { RenderResult } from '../shared/nats/render-result.ts';

export const MessageResponse = z.object({
  status: z.number(),
  body: z.looseObject({
    code: z.string().optional(),
    detail: z.string().optional(),
    rejectionNotice: NatsMessage.optional(),
    skipped: z.string().optional(),
  }),
});
export type MessageResponse = z.output<typeof MessageResponse>;

const MessageResponses = z.object({ results: z.array(MessageResponse) });
const RenderResponse = z.object({ results: z.array(RenderResult) });

export class ParleyResponseError extends Error {
  readonly status: number;
  readonly problem: MessageResponse['body'];

  constructor(status: number, problem: MessageResponse['body']) {
    super(`Parley answered ${status}: ${problem.detail ?? problem.code ?? ''}`);
    this.status = status;
    this.problem = problem;
  }
}

export interface ParleyApi {
  isResponsive(): Promise<boolean>;
  getPlan(): Promise<RelayPlan>;
  /** Each message is the text of a JSON object. */
  sendMessages(messages: string[], envelopes: NatsEnvelope[]): Promise<MessageResponse[]>;
  render(items: unknown[]): Promise<RenderResult[]>;
  close(): void;
}

/** Longer than any call of Parley: its functions end after 29 s. */
const TIMEOUT_MS = 35_000;
const MAX_SOCKETS = 32;
const PLAN_PATH = '/v1/relay/plan';
const RECENT_MS = 1000;
const HUNG_CALL_MS = 5000;
const PING_TIMEOUT_MS = 2000;

/** The key may be rotated, so each call reads it. */
export const createParleyApi = (address: string, key: () => string): ParleyApi => {
  const isHttps = address.startsWith('https:');
  const agent = new (isHttps ? HttpsAgent : HttpAgent)({ keepAlive: true, maxSockets: MAX_SOCKETS });
  let answeredAt = Number.NEGATIVE_INFINITY;
  /** Oldest first. */
  const underWay = new Set<{ begunAt: number }>();
  const call = async (method: string, path: string, body?: string, timeoutMs = TIMEOUT_MS): Promise<unknown> => {
    const own = { begunAt: Date.now() };
    underWay.add(own);
    try {
      const answer = await asked(method, path, body, timeoutMs);
      answeredAt = Date.now();
      return answer;
    } catch (error) {
      const isAnswer = error instanceof ParleyResponseError && error.status < 500;
      answeredAt = isAnswer ? Date.now() : Number.NEGATIVE_INFINITY;
      throw error;
    } finally {
      underWay.delete(own);
    }
  };
  const asked = (method: string, path: string, body: string | undefined, timeout: number): Promise<unknown> =>
    new Promise((resolve, reject) => {
      const headers: Record<string, string | number> = { authorization: `Bearer ${key()}` };
      if (body !== undefined) {
        headers['content-type'] = 'application/json';
        headers['content-length'] = Buffer.byteLength(body);
      }
      const options = { method, headers, agent, timeout };
      const request = (isHttps ? httpsRequest : httpRequest)(address + path, options, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const answer = parseJsonOrUndefined(Buffer.concat(chunks).toString());
          const status = response.statusCode ?? 0;
          if (status >= 200 && status < 300) resolve(answer);
          else reject(new ParleyResponseError(status, MessageResponse.shape.body.safeParse(answer).data ?? {}));
        });
      });
      request.on('error', reject);
      request.on('timeout', () => request.destroy(new Error(`Parley did not answer within ${timeout / 1000} s`)));
      request.end(body);
    });
  return {
    isResponsive: async () => {
      const [oldest] = underWay;
      if (oldest && Date.now() - oldest.begunAt > HUNG_CALL_MS) return false;
      if (Date.now() - answeredAt < RECENT_MS) return true;
      return call('GET', PLAN_PATH, undefined, PING_TIMEOUT_MS).then(
        () => true,
        () => false,
      );
    },
    getPlan: async () => RelayPlan.parse(await call('GET', PLAN_PATH)),
    sendMessages: async (messages, envelopes) => {
      const body = `{"messages":[${messages.join(',')}],"envelopes":${JSON.stringify(envelopes)}}`;
      const { results } = MessageResponses.parse(await call('POST', '/v1/messages', body));
      if (results.length === messages.length) return results;
      throw new Error(`Parley answered ${results.length} of ${messages.length} messages`);
    },
    render: async (items) =>
      RenderResponse.parse(await call('POST', '/v1/relay/render', JSON.stringify({ items }))).results,
    close: () => agent.destroy(),
  };
};

const parseJsonOrUndefined = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};
