import assert from 'node:assert/strict';
import type { Caller } from './api.ts';

/** Makes a card, or finds it, and gives its id. */
export const cardOf = async (caller: Caller, content: unknown, type = 'agent.thought'): Promise<string> => {
  const { status, body } = await caller.call('POST', '/v1/cards', { type, content });
  assert.ok(status === 200 || status === 201, JSON.stringify(body));
  return body.card_id;
};
