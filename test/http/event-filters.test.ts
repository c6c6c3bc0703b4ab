import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { TestAgent } from '../support/api.ts';
import { type TestParley, testParley } from '../support/test-parley.ts';
import { settled } from './refusal.ts';

// biome-ignore lint/suspicious/noExplicitAny: whatever an event has
type LoggedEvent = any;

const page = async ({ admin }: TestParley, query: Record<string, string>) => {
  const { status, body } = await admin.call('GET', `/v1/events?${new URLSearchParams(query)}`);
  assert.equal(status, 200, JSON.stringify(body));
  return body as { events: LoggedEvent[]; cursor: string };
};

const readAll = async (parley: TestParley, query: Record<string, string> = {}): Promise<LoggedEvent[]> => {
  const found: LoggedEvent[] = [];
  for (let after: string | undefined; ; ) {
    const { events, cursor } = await page(parley, { ...query, ...(after === undefined ? {} : { after }) });
    found.push(...events);
    if (cursor === after) return found;
    after = cursor;
  }
};

const AGENTS = ['tim', 'gal'];
const CAPABILITIES = ['security.scan', 'home.dinner'];
const CONVERSATIONS = ['one', 'two'];

/** A log with tasks of each sort, and the ids of the tasks. */
const start = async (t: Parameters<typeof testParley>[0]) => {
  const parley = await testParley(t);
  const agents: TestAgent[] = [];
  for (const id of AGENTS) agents.push(await parley.agent(id, { dialect: 'native', capabilities: CAPABILITIES }));
  const ids: string[] = [];
  for (let number = 0; number < 24; number++) {
    const id = randomUUID();
    const request = { kind: 'request', id, capability: CAPABILITIES[number % 3] ?? 'home.dinner' };
    const { status } = await (agents[number % 2] as TestAgent).send({
      ...request,
      conversation: CONVERSATIONS[number % 5],
    });
    assert.equal(status, 202);
    ids.push(id);
    parley.clock.advance(1000);
    const worker = agents[number % 3 === 0 ? 1 : 0] as TestAgent;
    if (number % 4 > 0)
      for (const { taskId } of await worker.claim()) await worker.send({ kind: 'result', taskId, output: {} });
  }
  await settled(parley);
  return { parley, ids };
};

const matches = (filter: Record<string, string | undefined>, { type, data }: LoggedEvent): boolean =>
  (filter.task === undefined || data.taskId === filter.task) &&
  (filter.agent === undefined || [data.from, data.to, data.agent].includes(filter.agent)) &&
  (filter.domain === undefined || data.domain === filter.domain) &&
  (filter.conversation === undefined || data.conversationId === filter.conversation) &&
  (filter.type === undefined || type === filter.type);

describe('GET /v1/events', () => {
  it('has exactly what matches a task, an agent, a domain, a conversation and a type, page by page and from the end', async (t) => {
    const { parley, ids } = await start(t);
    const all = await readAll(parley);
    const maybe = (...values: string[]) => fc.option(fc.constantFrom(...values), { nil: undefined });
    const filters = fc.record({
      task: fc.option(fc.constantFrom(...ids), { nil: undefined, freq: 2 }),
      agent: maybe(...AGENTS, 'nobody'),
      domain: maybe('security', 'home'),
      conversation: maybe(...CONVERSATIONS),
      type: maybe('task.requested', 'task.completed'),
    });
    for (const conversation of CONVERSATIONS) assert.ok(all.some(({ data }) => data.conversationId === conversation));
    let found = 0;
    await fc.assert(
      fc.asyncProperty(filters, fc.integer({ min: 1, max: 20 }), async (filter, limit) => {
        const given = Object.fromEntries(Object.entries(filter).flatMap(([name, one]) => (one ? [[name, one]] : [])));
        const expected = all.filter((event) => matches(filter, event));
        found += expected.length;
        assert.deepEqual(await readAll(parley, { ...given, limit: `${limit}` }), expected);
        const last = await page(parley, { ...given, last: `${limit}` });
        assert.deepEqual(last.events, expected.slice(-limit));
        assert.deepEqual((await page(parley, { ...given, after: last.cursor })).events, []);
      }),
      { numRuns: 60, endOnFailure: true, examples: [[{}, 3]] as never },
    );
    assert.ok(found > 0);
  });

  it('begins at a time', async (t) => {
    const { parley } = await start(t);
    const all = await readAll(parley);
    const { at } = all[Math.floor(all.length / 2)];
    const since = new Date(at).toISOString();
    const { events } = await page(parley, { since, limit: '500' });
    assert.deepEqual(
      events,
      all.filter((event) => event.at >= at),
    );
  });

  it('rejects two beginnings at once', async (t) => {
    const parley = await testParley(t);
    for (const query of ['last=3&after=0.0', 'since=2026-01-01T00:00:00Z&last=3', 'last=0', 'last=501', 'since=now'])
      assert.equal((await parley.admin.call('GET', `/v1/events?${query}`)).status, 400, query);
  });
});
