import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import config from '../../parley.config.ts';
import { getDialect } from '../../shared/dialects/registry.ts';
import { findUnsafeJson } from '../../shared/kernel/json/find-unsafe-json.ts';
import { settled } from '../http/refusal.ts';
import { agentOsMessage } from '../support/agent-os-agent.ts';
import { mrMessage, newMsgId } from '../support/message-routing.ts';
import { speakers as allSpeakers, type Speaker, type Wire } from '../support/speakers.ts';
import { testParley } from '../support/test-parley.ts';

const text = fc.oneof(fc.string({ unit: 'grapheme', maxLength: 30 }), fc.constant('x'.repeat(4000)));
/** A native message of Parley has fields that senders must not set. */
const speakers = allSpeakers.filter(({ dialect }) => dialect !== 'native');

/** Longer than most dialects allow. */
const long = fc.oneof(text, fc.constant('x'.repeat(4001)));
const json = fc
  .jsonValue({ maxDepth: 2, stringUnit: 'grapheme' })
  .filter((value) => findUnsafeJson(value) === undefined);
const object = fc
  .dictionary(fc.string({ maxLength: 8 }), json, { maxKeys: 3 })
  .filter((value) => !findUnsafeJson(value));
const share = fc.double({ min: 0, max: 1, noNaN: true });
const percent = fc.double({ min: 0, max: 100, noNaN: true });
const printable = fc.string({ unit: fc.constantFrom(...'aZ09 .-_~#%ü水'), minLength: 1, maxLength: 20 });
const some = <T>(model: { [K in keyof T]: fc.Arbitrary<T[K]> }) => fc.record<T>(model, { requiredKeys: [] });

const ODD_TYPES = ['parse_recipe', 'security.Briefing', 'security.>', 'a..b', '.', 'agent-os.nothing', 'x'.repeat(128)];
const MR_STATUSES = fc.constantFrom('in_progress', 'completed', 'blocked');

const inAgentOs = (content: fc.Arbitrary<unknown>, types?: string[]) =>
  fc.record({
    ...(types && { type: fc.constantFrom(...types) }),
    payload: fc.record({ content, format: fc.constantFrom('json', 'text'), language: fc.constantFrom('en', 'ar') }),
    context: some({ sessionId: printable, requestId: printable, conversationId: printable }),
    later: json,
  });

/** The optional fields of requests, progress, results and failures in each dialect. */
type Words = Record<'request' | 'progress' | 'complete' | 'fail', fc.Arbitrary<object>>;

const WORDS: Record<string, Words> = {
  'round-table': {
    request: fc.record({
      priority: fc.constantFrom('low', 'normal', 'high', 'critical'),
      ttl: fc.integer({ min: 1, max: 604_800 }),
      correlationId: fc.uuid({ version: 4 }),
      payload: fc.record({
        task: fc.stringMatching(/^[a-z0-9_-]{1,9}(\.[a-z0-9_-]{1,9}){1,3}$/),
        params: object,
        more: json,
      }),
      later: json,
    }),
    progress: fc.record({ payload: some({ percent, message: text, more: json }) }),
    complete: fc.record({ payload: fc.record({ status: fc.constant('completed'), result: object }) }),
    fail: fc.record({ payload: fc.record({ error: fc.constant('invalid_params'), message: text }) }),
  },
  'agent-os': {
    request: inAgentOs(json, ['query', 'command', 'validation', 'correction']),
    progress: inAgentOs(fc.oneof(json, some({ percent: fc.oneof(json, percent), message: fc.oneof(json, long) }))),
    complete: inAgentOs(json),
    fail: inAgentOs(
      fc.record({ code: fc.constantFrom('VALIDATION_FAILED', 'SAFETY_VIOLATION'), message: text, details: json }),
    ),
  },
  'task-format': {
    request: fc.record({
      id: printable.map((end) => () => `${randomUUID()}${end}`),
      type: fc.oneof(
        fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 }).filter(({ length }) => length <= 128),
        fc.constantFrom(...ODD_TYPES),
      ),
      payload: object,
      context: some({ priority: fc.constantFrom('low', 'normal', 'high', 'urgent'), user: printable, more: json }),
      retryPolicy: some({ maxAttempts: fc.integer({ min: 1, max: 10 }), initialDelay: fc.nat(300_000) }),
    }),
    progress: fc.record({ metadata: some({ progress: percent, message: text, more: json }) }),
    complete: fc.record({
      result: json,
      artifacts: fc.constant([{ name: 'a b/c', type: 'text/plain', content: 'ß' }]),
    }),
    fail: fc.record({
      error: fc.record({ code: printable, message: text, details: object, recoverable: fc.constant(false) }),
    }),
  },
  'message-routing': {
    request: fc.record({
      priority: fc.integer({ min: 0, max: 10 }),
      payload: fc.record({ task: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 50 }), more: json }),
      later: json,
    }),
    progress: fc.record({
      payload: some({ progress: share, message: long, blockers: fc.array(text, { maxLength: 1 }) }).chain((said) =>
        MR_STATUSES.map((status) => ({ ...said, status })),
      ),
    }),
    complete: fc.record({ payload: fc.record({ status: fc.constantFrom('success', 'partial'), more: json }) }),
    fail: fc.record({
      payload: fc.record({ status: fc.constant('failure'), issues: fc.array(long, { maxLength: 2 }) }),
    }),
  },
  'common-ground': {
    request: fc.record({ payload: object }),
    progress: fc.record({ metadata: some({ progress: fc.oneof(json, percent), message: fc.oneof(json, long) }) }),
    complete: fc.record({ content: object }),
    fail: fc.record({ error: text, error_code: fc.stringMatching(/^[a-z_]{1,20}$/) }),
  },
  a2a: {
    request: fc.record({
      configuration: some({ returnImmediately: fc.boolean(), historyLength: fc.nat(3), later: json }),
      metadata: fc.record({
        more: json,
        parley: fc.record({ to: fc.constant('worker'), capability: fc.constantFrom(...ODD_TYPES) }),
      }),
      later: json,
    }),
    progress: fc.record({ later: json }),
    complete: fc.record({ later: json }),
    fail: fc.record({ later: json }),
  },
};

const wordsOf = ({ dialect }: Speaker): Words => {
  const words = WORDS[dialect];
  if (!words) throw new Error(`nothing is known of ${dialect}`);
  return words;
};

/** The id is new in every run, so that no message is a repetition. */
const asked = (asking: Speaker, wanted: Wire): Wire => {
  const base: Wire = asking.request('requester', 'worker', {});
  if (base.subject) return { ...base, payload: { ...base.payload, ...wanted, correlation_id: randomUUID() } };
  if (base.message) return { ...base, ...wanted, message: { ...base.message, messageId: randomUUID() } };
  if (base.msg_id) return { ...base, ...wanted, msg_id: newMsgId() };
  return { ...base, ...wanted, id: wanted.id?.() ?? base.id };
};

const assertSayable = (name: string, message: Wire): void => {
  const dialect = getDialect(name);
  assert.deepEqual(dialect.validate(message), [], `${name}: ${JSON.stringify(message).slice(0, 1000)}`);
  // Only Parley publishes turn events.
  if (!message.subject?.includes('.evt.')) dialect.decode(message, config, 'somebody');
};

const pairs = speakers.flatMap((asking) => speakers.map((doing): [Speaker, Speaker] => [asking, doing]));
/** A CommonGround turn for a CommonGround agent is no task. */
const isTask = ([asking, doing]: [Speaker, Speaker]) => asking !== doing || asking.dialect !== 'common-ground';

describe('messages about a task', () => {
  for (const [asking, doing] of pairs.filter(isTask)) {
    it(`encodes valid messages in every dialect for a request in ${asking.dialect} and a worker in ${doing.dialect}`, async (t) => {
      const parley = await testParley(t);
      const requester = await parley.agent('requester', { dialect: asking.dialect, inbox: 'ends' });
      const worker = await parley.agent('worker', { dialect: doing.dialect });
      const { progress, complete, fail } = wordsOf(doing);
      const end = fc.oneof(
        complete.map((said) => ({ verb: 'complete' as const, said })),
        fail.map((said) => ({ verb: 'fail' as const, said })),
        fc.constant({ verb: 'cancel' as const, said: {} }),
      );
      const say = async (message: Wire) => {
        const reply = await doing.say(worker, message);
        assert.equal(reply.status, 202, JSON.stringify([message, reply.body]));
      };
      const readBy = async (reader: typeof worker, { dialect, idIn }: Speaker) => {
        const messages = await reader.inbox();
        for (const message of messages) assertSayable(dialect, message);
        await reader.call('POST', '/v1/inbox/ack', { ids: messages.map(idIn) });
      };
      await fc.assert(
        fc.asyncProperty(wordsOf(asking).request, progress, end, async (wanted, reported, { verb, said }) => {
          const request = { ...asked(asking, wanted), ...(asking.dialect === 'task-format' && ROUTING) };
          const { status, body } = await requester.send(request);
          assert.equal(status, 202, JSON.stringify([request, body]));
          await settled(parley);
          const path = `/v1/tasks/${encodeURIComponent(body.taskId ?? body.agentTurnId)}`;
          const everywhere = async () => {
            await settled(parley);
            for (const { dialect } of speakers) {
              assertSayable(dialect, (await parley.admin.call('GET', `${path}?dialect=${dialect}`)).body);
            }
          };
          await everywhere();
          const taken = await doing.take(worker);
          if (doing.dialect !== 'common-ground') assertSayable(doing.dialect, taken);
          await everywhere();
          const talk = { from: worker, to: 'requester', taskId: doing.calledIn(taken) };
          await say({ ...doing.progress(talk, 5, 'a'), ...reported });
          await everywhere();
          if (verb === 'complete') await say({ ...doing.complete(talk, {}), ...said });
          else if (verb === 'fail') await say({ ...doing.fail(talk, 'failure', 'b', 0), ...said });
          else assert.equal((await parley.admin.call('POST', `${path}/cancel`)).status, 200);
          await everywhere();
          await readBy(requester, asking);
          await readBy(worker, doing);
        }),
        { numRuns: 10, endOnFailure: true },
      );
    });
  }
});

describe('direct messages and batch results', () => {
  for (const { dialect } of speakers) {
    it(`encodes valid direct messages and batch results in ${dialect}`, async (t) => {
      const parley = await testParley(t);
      const coordinator = await parley.agent('coordinator', { dialect: 'message-routing', role: 'coordinator' });
      const scout = await parley.agent('scout', { dialect: 'agent-os' });
      const reader = await parley.agent('reader', { dialect });
      const correlation_id = newMsgId();
      const sent = [
        await coordinator.send(mrMessage('status-update', 'coordinator', 'reader', { correlation_id })),
        await coordinator.send(mrMessage('command', 'coordinator', 'reader', { payload: { action: 'health_check' } })),
        await scout.send(agentOsMessage('gap', 'scout', 'reader', { replyTo: `msg-${randomUUID()}` })),
        await reader.call('POST', '/v1/batches', {
          batchId: 'dinner for two',
          tasks: [
            {
              id: randomUUID(),
              type: 'cook',
              payload: {},
              context: {},
              routing: { source: 'reader', target: 'scout' },
            },
          ],
          deadlineSeconds: 1,
        }),
      ];
      for (const { status, body } of sent) assert.equal(status, 202, JSON.stringify(body));
      parley.clock.advance(1000);
      await settled(parley);
      const messages = await reader.inbox();
      assert.equal(messages.length, 4);
      for (const message of messages) {
        // Round Table's document has no type for direct messages.
        assertSayable(dialect, message.type === 'message' ? { ...message, type: 'broadcast.alert' } : message);
      }
    });
  }
});

const ROUTING = { routing: { target: 'worker' } };
