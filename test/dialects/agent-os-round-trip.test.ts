import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { findUnsafeJson } from '../../shared/kernel/json/find-unsafe-json.ts';
import { agentOsAgent, content, type Wire } from '../support/agent-os-agent.ts';
import { testParley } from '../support/test-parley.ts';

const text = fc.string({ unit: 'grapheme', maxLength: 20 });
const name = fc.stringMatching(/^[a-z0-9-]{1,20}$/);
/** The id is new in every run, so that a shrunk counterexample is not a repetition. */
const uuid = fc
  .constantFrom<(id: string) => string>(
    (id) => id,
    (id) => `msg-${id}`,
    (id) => `msg-${id.toUpperCase()}`,
  )
  .map((spelling) => () => spelling(randomUUID()));
const json = fc
  .jsonValue({ maxDepth: 3, stringUnit: 'grapheme' })
  .filter((value) => findUnsafeJson(value) === undefined);
const some = <T>(model: { [K in keyof T]: fc.Arbitrary<T[K]> }) => fc.record<T>(model, { requiredKeys: [] });

interface Unsent {
  id: () => string;
  from: object;
  [field: string]: unknown;
}

const sent = (unsent: Unsent, overrides: Record<string, unknown> = {}): Wire => ({
  ...unsent,
  id: unsent.id(),
  ...overrides,
});

const source = fc.record({ id: name, name: text, type: text, url: fc.webUrl() });
const party = (agentId: string) => fc.record({ agentId: fc.constant(agentId), instanceId: name });

const message = (type: string, from: string, to: string, value: fc.Arbitrary<unknown> = json): fc.Arbitrary<Unsent> =>
  fc.record({
    id: uuid,
    timestamp: fc.constantFrom('2026-02-08T15:00:00Z', '2026-02-08T18:00:00.123+03:00'),
    version: fc.constantFrom('1.0.0', '1.7.12'),
    from: party(from),
    to: party(to),
    type: fc.constant(type),
    payload: fc.record({
      content: value,
      format: fc.constantFrom('json', 'text', 'markdown'),
      language: fc.constantFrom('en', 'ar'),
      encoding: fc.constant('utf-8'),
    }),
    context: some({
      sessionId: name,
      userId: name,
      requestId: name,
      conversationId: name,
      locale: text,
      timezone: text,
    }),
    evidence: fc.record({
      sources: fc.array(source, { minLength: 1, maxLength: 3 }),
      confidence: fc.integer({ min: 0, max: 100 }),
      citations: fc.array(some({ text, source: text, date: text, url: fc.webUrl() }), { maxLength: 3 }),
      provenance: fc.array(some({ entity: text, wasGeneratedBy: name, wasDerivedFrom: name, generatedAtTime: text }), {
        maxLength: 3,
      }),
    }),
    priority: fc.constantFrom('high', 'normal', 'low'),
    ttl: fc.integer({ min: 1, max: 604_800 }),
    retryCount: fc.integer({ min: 0, max: 1000 }),
    later: json,
  });

/** JSON does not distinguish 0 and -0. */
const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

describe('AgentOS round trip', () => {
  it('delivers any request, answer or direct message unchanged', async (t) => {
    const parley = await testParley(t);
    const [brain, scribe] = [await agentOsAgent(parley, 'one-brain'), await agentOsAgent(parley, 'scribe')];
    const request = fc
      .constantFrom('query', 'command', 'validation', 'correction')
      .chain((type) => message(type, 'one-brain', 'scribe'));
    const note = fc.constantFrom('event', 'evidence', 'gap').chain((type) => message(type, 'scribe', 'one-brain'));
    const answer = message('response', 'scribe', 'one-brain');
    await fc.assert(
      fc.asyncProperty(request, answer, note, async (unasked, unanswered, unnoted) => {
        const asked = sent(unasked);
        const noted = sent(unnoted);
        assert.equal((await brain.send(asked)).status, 202);
        const [task] = await scribe.claim();
        assert.deepEqual(task.message, plain(asked));
        const response = sent(unanswered, { replyTo: asked.id, to: asked.from });
        assert.equal((await scribe.send(response)).status, 202);
        parley.clock.advance(1);
        assert.equal((await scribe.send(noted)).status, 202);
        const read = await brain.inbox();
        assert.deepEqual(read, plain([response, noted]));
        assert.equal(await brain.ack(...read.map(({ id }) => id)), 2);
      }),
      { numRuns: 60 },
    );
  });

  it('delivers any error that fails a task unchanged', async (t) => {
    const parley = await testParley(t);
    const [brain, scribe] = [await agentOsAgent(parley, 'one-brain'), await agentOsAgent(parley, 'scribe')];
    const said = fc.record(
      {
        code: fc.constantFrom('VALIDATION_FAILED', 'SAFETY_VIOLATION'),
        message: text,
        details: json,
        suggestion: text,
      },
      { requiredKeys: ['code', 'message'] },
    );
    await fc.assert(
      fc.asyncProperty(message('error', 'scribe', 'one-brain', said), async (failure) => {
        const query = await brain.say('query', 'scribe', { payload: content('?') });
        await scribe.claim();
        const error = sent(failure, { replyTo: query.id, to: query.from });
        assert.equal((await scribe.send(error)).status, 202);
        const [read] = await brain.inbox(20);
        assert.deepEqual(read, plain(error));
        await brain.ack(error.id);
      }),
      { numRuns: 30 },
    );
  });
});
