import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { type Caller, type Reply, TestAgent } from './api.ts';
import type { TestParley } from './test-parley.ts';

export const evidence = (overrides: object = {}) => ({
  sources: [{ id: 'src-1', name: 'The Register', type: 'archive', url: 'https://register.example/1' }],
  confidence: 85,
  citations: [{ text: 'folio 7', source: 'The Register', date: '2024', url: 'https://register.example/1' }],
  provenance: [
    {
      entity: 'HARVEST_2024',
      wasGeneratedBy: 'scribe',
      wasDerivedFrom: 'register',
      generatedAtTime: '2026-02-08T15:00:05Z',
    },
  ],
  ...overrides,
});

export const NO_EVIDENCE = { sources: [], confidence: 0, citations: [], provenance: [] };

export interface Wire {
  id: string;
  [field: string]: unknown;
}

/** A message with every field of the protocol. */
export const agentOsMessage = (
  type: string,
  from: string,
  to: string,
  overrides: Record<string, unknown> = {},
): Wire => ({
  id: `msg-${randomUUID()}`,
  timestamp: '2026-02-08T15:00:00Z',
  version: '1.0.0',
  from: { agentId: from, instanceId: `${from}-001` },
  to: { agentId: to, instanceId: `${to}-001` },
  type,
  payload: { content: { question: 'How large was the harvest?' }, format: 'json', language: 'en', encoding: 'utf-8' },
  context: {
    sessionId: 'sess-1',
    userId: 'user-1',
    requestId: 'req-1',
    conversationId: 'conv-1',
    locale: 'en-US',
    timezone: 'UTC',
  },
  evidence: NO_EVIDENCE,
  priority: 'normal',
  ttl: 600,
  retryCount: 0,
  ...overrides,
});

/** An agent that speaks AgentOS. */
export class AgentOsAgent extends TestAgent {
  message(type: string, to: string, overrides: Record<string, unknown> = {}): Wire {
    return agentOsMessage(type, this.id, to, overrides);
  }

  /** Sends a message, sees it accepted, and gives it. */
  async say(type: string, to: string, overrides: Record<string, unknown> = {}): Promise<Wire> {
    const message = this.message(type, to, overrides);
    const reply = await this.send(message);
    assert.equal(reply.status, 202, JSON.stringify(reply.body));
    return message;
  }

  respond(to: string, replyTo: string, overrides: Record<string, unknown> = {}): Promise<Reply> {
    const payload = { content: { answer: 'Large.' }, format: 'json', language: 'en', encoding: 'utf-8' };
    return this.send(this.message('response', to, { replyTo, payload, evidence: evidence(), ...overrides }));
  }

  err(to: string, content: object, overrides: Record<string, unknown> = {}): Promise<Reply> {
    const payload = { content, format: 'json', language: 'en', encoding: 'utf-8' };
    return this.send(this.message('error', to, { payload, ...overrides }));
  }

  async ack(...ids: string[]): Promise<number> {
    return (await this.call('POST', '/v1/inbox/ack', { ids })).body.acknowledged;
  }
}

export const agentOsAgent = async (
  { admin, transport }: { admin: Caller } & Pick<TestParley, 'transport'>,
  id: string,
): Promise<AgentOsAgent> => {
  const reply = await admin.call('PUT', `/v1/agents/${id}`, { dialect: 'agent-os' });
  assert.equal(reply.status, 201, JSON.stringify(reply.body));
  return new AgentOsAgent(id, reply.body.key, transport);
};

export const content = (value: unknown, overrides: object = {}) => ({
  content: value,
  format: 'json',
  language: 'en',
  encoding: 'utf-8',
  ...overrides,
});
