import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type ParleyErrorCode, STATUS_BY_CODE } from '../../shared/kernel/errors.ts';
import { assertRefused, refusedWithoutTrace } from '../http/refusal.ts';
import { agentOsAgent, agentOsMessage, content, evidence, NO_EVIDENCE } from '../support/agent-os-agent.ts';
import { testParley } from '../support/test-parley.ts';

const query = (overrides: Record<string, unknown> = {}) => agentOsMessage('query', 'one-brain', 'scribe', overrides);
const reply = (overrides: Record<string, unknown> = {}) =>
  agentOsMessage('response', 'one-brain', 'scribe', {
    replyTo: 'msg-123e4567-e89b-12d3-a456-426614174000',
    evidence: evidence(),
    ...overrides,
  });
const error = (said: object) => agentOsMessage('error', 'one-brain', 'scribe', { payload: content(said) });
const from = (overrides: object) => ({ agentId: 'one-brain', instanceId: 'ob-001', ...overrides });

const start = async (t: Parameters<typeof testParley>[0]) => {
  const parley = await testParley(t);
  const [brain] = [await agentOsAgent(parley, 'one-brain'), await agentOsAgent(parley, 'scribe')];
  return { parley, brain };
};

describe('AgentOS validation rules', () => {
  const rules: [rule: string, message: object, paths: string[]][] = [
    ...['id', 'timestamp', 'version', 'type', 'payload', 'to'].map((field): [string, object, string[]] => [
      'required_fields',
      query({ [field]: undefined }),
      [field],
    ]),
    ['required_fields', reply({ replyTo: undefined }), ['replyTo']],
    ['uuid_format', query({ id: 'msg-1' }), ['id']],
    ['uuid_format', query({ id: '123e4567-e89b-02d3-a456-426614174000' }), ['id']],
    ['uuid_format', query({ id: 'message-123e4567-e89b-12d3-a456-426614174000' }), ['id']],
    ['uuid_format', query({ replyTo: 'the last one' }), ['replyTo']],
    ['timestamp_format', query({ timestamp: '2026-02-08T15:00:00' }), ['timestamp']],
    ['timestamp_format', query({ timestamp: 'yesterday' }), ['timestamp']],
    ['agent_ids', query({ to: { agentId: 'The Scribe' } }), ['to.agentId']],
    ['evidence_chain', reply({ evidence: undefined }), ['evidence']],
    [
      'evidence_chain',
      reply({ evidence: { confidence: 1 } }),
      ['evidence.sources', 'evidence.citations', 'evidence.provenance'],
    ],
    ['confidence_range', reply({ evidence: evidence({ confidence: 101 }) }), ['evidence.confidence']],
    ['confidence_range', query({ evidence: { confidence: -0.1 } }), ['evidence.confidence']],
  ];

  it('rejects a bad message with the broken rule and its fields, without a trace', async (t) => {
    const { parley, brain } = await start(t);
    for (const [rule, message, paths] of rules) {
      await t.test(`rejects a message that breaks ${rule}: ${paths}`, async () => {
        const { body } = await refusedWithoutTrace(parley, 400, 'invalid_message', () =>
          // Without a sender only the header tells the dialect.
          brain.call('POST', '/v1/messages', message, { 'parley-dialect': 'agent-os' }),
        );
        assert.deepEqual(
          body.issues.map(({ path }: { path: string }) => path),
          paths,
        );
        assert.deepEqual(body.agentOs, { code: 'VALIDATION_FAILED', recoverable: false, rules: [rule] });
      });
    }
  });

  it('rejects an unregistered recipient or sender, and a sender other than the owner of the key', async (t) => {
    const { parley, brain } = await start(t);
    const unknown = await refusedWithoutTrace(parley, 422, 'unknown_agent', () =>
      brain.send(query({ to: { agentId: 'nobody' } })),
    );
    assert.deepEqual(unknown.body.agentOs, { code: 'VALIDATION_FAILED', recoverable: false, rules: ['agent_ids'] });
    const mismatched = await refusedWithoutTrace(parley, 403, 'from_mismatch', () =>
      brain.send(query({ from: from({ agentId: 'scribe' }) })),
    );
    assert.deepEqual(mismatched.body.agentOs, { code: 'UNAUTHORIZED', recoverable: false });
    const asAdmin = () => parley.admin.call('POST', '/v1/messages', query({ from: from({ agentId: 'nobody' }) }));
    await refusedWithoutTrace(parley, 422, 'unknown_agent', asAdmin);
  });
});

describe('AgentOS message validation', () => {
  const refused: [what: string, message: object, code: ParleyErrorCode, paths: string[]][] = [
    ['a timestamp that is a number', query({ timestamp: 5 }), 'invalid_message', ['timestamp']],
    ['a version of two numbers', query({ version: '1.0' }), 'invalid_message', ['version']],
    ['a version of another major', query({ version: '2.0.0' }), 'unsupported_version', []],
    ['an unknown type', query({ type: 'praise' }), 'unknown_type', []],
    ['a type named like an inherited property', query({ type: 'constructor' }), 'unknown_type', []],
    ['a type that is a number', query({ type: 7 }), 'invalid_message', ['type']],
    ['a sender without an id', query({ from: {} }), 'invalid_message', ['from.agentId']],
    ['an instance that is a number', query({ from: from({ instanceId: 1 }) }), 'invalid_message', ['from.instanceId']],
    ['an addressee that is a text', query({ to: 'scribe' }), 'invalid_message', ['to']],
    ['a payload that is a text', query({ payload: 'x' }), 'invalid_message', ['payload']],
    ['a payload without content', query({ payload: {} }), 'invalid_message', ['payload.content']],
    ['an unknown format', query({ payload: content(1, { format: 'html' }) }), 'invalid_message', ['payload.format']],
    [
      'an unknown language',
      query({ payload: content(1, { language: 'fr' }) }),
      'invalid_message',
      ['payload.language'],
    ],
    [
      'another encoding',
      query({ payload: content(1, { encoding: 'utf-16' }) }),
      'invalid_message',
      ['payload.encoding'],
    ],
    ['a context that is a text', query({ context: 'x' }), 'invalid_message', ['context']],
    ...['sessionId', 'userId', 'requestId', 'conversationId', 'locale', 'timezone'].map(
      (field): [string, object, ParleyErrorCode, string[]] => [
        `a ${field} that is a number`,
        query({ context: { [field]: 1 } }),
        'invalid_message',
        [`context.${field}`],
      ],
    ),
    ['a priority of another protocol', query({ priority: 'critical' }), 'invalid_message', ['priority']],
    ['a TTL of 0', query({ ttl: 0 }), 'invalid_message', ['ttl']],
    ['a TTL in a text', query({ ttl: '30' }), 'invalid_message', ['ttl']],
    ['a retryCount below 0', query({ retryCount: -1 }), 'invalid_message', ['retryCount']],
    ['a retryCount of 1.5', query({ retryCount: 1.5 }), 'invalid_message', ['retryCount']],
    ['sources that are no list', query({ evidence: { sources: {} } }), 'invalid_message', ['evidence.sources']],
    [
      'a source that names nothing',
      query({ evidence: { sources: [{ type: 'x' }] } }),
      'invalid_message',
      ['evidence.sources[0]'],
    ],
    [
      'a citation that is a text',
      query({ evidence: { citations: ['x'] } }),
      'invalid_message',
      ['evidence.citations[0]'],
    ],
    [
      'a provenance of numbers',
      query({ evidence: { provenance: [{ entity: 1 }] } }),
      'invalid_message',
      ['evidence.provenance[0].entity'],
    ],
    ['a confidence in a text', query({ evidence: { confidence: '85' } }), 'invalid_message', ['evidence.confidence']],
    ['a response to nothing', reply({ replyTo: undefined }), 'invalid_message', ['replyTo']],
    ['a response to an unknown message', reply(), 'task_not_found', []],
    ['an error without a code', error({ message: 'x' }), 'invalid_message', ['payload.content.code']],
    [
      'an error of a code that is too long',
      error({ code: 'B'.repeat(129), message: 'x' }),
      'invalid_message',
      ['payload.content.code'],
    ],
    ['an error without a message', error({ code: 'TIMEOUT' }), 'invalid_message', ['payload.content.message']],
    [
      'an error with a recoverable that is a text',
      error({ code: 'TIMEOUT', message: 'x', recoverable: 'yes' }),
      'invalid_message',
      ['payload.content.recoverable'],
    ],
    [
      'everything wrong at once',
      query({ id: 1, timestamp: 1, ttl: 'x', payload: {}, priority: 'x', evidence: { confidence: 101 } }),
      'invalid_message',
      ['id', 'timestamp', 'priority', 'ttl', 'evidence.confidence', 'payload.content'],
    ],
  ];

  it('rejects a bad message with all its issues and without a trace', async (t) => {
    const { parley, brain } = await start(t);
    for (const [what, message, code, paths] of refused) {
      await t.test(`rejects ${what}`, async () => {
        const { body } = await refusedWithoutTrace(parley, STATUS_BY_CODE[code], code, () => brain.send(message));
        assert.deepEqual((body.issues ?? []).map(({ path }: { path: string }) => path).sort(), paths.toSorted());
      });
    }
  });

  it('recognizes an AgentOS message by its sender object', async (t) => {
    const { brain } = await start(t);
    const answer = await brain.send({ from: from({}) });
    assertRefused(answer, 400, 'invalid_message');
    assert.match(answer.body.detail, /agent-os/);
  });

  it('fills the optional fields of a message with defaults', async (t) => {
    const parley = await testParley(t);
    const [brain, scribe] = [await agentOsAgent(parley, 'one-brain'), await agentOsAgent(parley, 'scribe')];
    const { id, timestamp, version, type } = query();
    const least = { id, timestamp, version, type, from: { agentId: 'one-brain' }, to: { agentId: 'scribe' } };
    assert.equal((await brain.send({ ...least, payload: { content: null } })).status, 202);
    const [{ message }] = await scribe.claim();
    assert.deepEqual(
      [message.payload, message.evidence, message.priority, message.ttl, message.retryCount],
      [content(null), NO_EVIDENCE, 'normal', 3600, 0],
    );
  });
});
