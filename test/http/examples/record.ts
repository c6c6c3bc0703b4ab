import assert from 'node:assert/strict';
import { routes } from '../../../shared/http/routes/routes.ts';
import type { TestParley } from '../../support/test-parley.ts';
import { type ExampleCall, type Send, tellStory } from './story.ts';

export interface RecordedExample extends ExampleCall {
  status: number;
  response?: unknown;
}

/** The first call of each operation in the story, with what it was answered. */
export const recordExamples = async (parley: TestParley): Promise<Record<string, RecordedExample>> => {
  const examples: Record<string, RecordedExample> = {};
  const send: Send = async (caller, operationId, call) => {
    const route = routes.find((one) => one.operationId === operationId);
    assert.ok(route, `no call has the id ${operationId}`);
    const path = route.path.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(call.params?.[name] ?? ''));
    const query = new URLSearchParams(call.query).toString();
    const target = query === '' ? path : `${path}?${query}`;
    const reply = await caller.call(route.method, target, call.body, call.headers);
    assert.ok(reply.status < 300, `${operationId}: ${JSON.stringify(reply.body)}`);
    const hasResponse = reply.body !== undefined && !DOCUMENTS.includes(operationId);
    examples[operationId] ??= { ...call, status: reply.status, ...(hasResponse && { response: tidy(reply.body) }) };
    return reply;
  };
  await tellStory(parley, send);
  return Object.fromEntries(Object.entries(examples).sort(([one], [other]) => (one < other ? -1 : 1)));
};

/** They are too long to be shown inside of one of them. */
const DOCUMENTS = ['getOpenApi', 'getAsyncApi', 'getSchema', 'getMetrics', 'getHomePage', 'streamTurn'];

const KEY = /(prl_\w+\.@?\w+\.)[\w-]{49}/g;
const MAX_ITEMS = 2;

/** Without secrets, and with the beginning of long lists. */
const tidy = (value: unknown): unknown => {
  if (typeof value === 'string') return value.replaceAll(KEY, '$1…');
  if (Array.isArray(value)) return value.slice(0, MAX_ITEMS).map(tidy);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, tidy(one)]));
};
