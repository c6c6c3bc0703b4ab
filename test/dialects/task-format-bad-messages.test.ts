import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { assertRefused, refusedWithoutTrace } from '../http/refusal.ts';
import { taskRequest } from '../support/api.ts';
import { kitchen, tfRequest } from '../support/task-format.ts';
import { testParley } from '../support/test-parley.ts';

const response = (status: unknown, more: object = {}) => ({ id: 'some-task', status, ...more });
const done = (more: object) => response('completed', more);
const failed = (error: unknown) => response('failed', { error });
const signal = (more: object) => ({ signalId: 's', from: 'orchestrator', to: 'cook', type: 'blocked', ...more });
const artifact = { name: 'a.md', type: 'text/markdown', content: '' };
const error = { code: 'INTERNAL_ERROR', message: 'broken' };

const refused: [what: string, message: object, paths: string[]][] = [
  ['no id', tfRequest({ id: undefined }), ['id']],
  ['an empty id', tfRequest({ id: '' }), ['id']],
  ['an id that is a number', tfRequest({ id: 5 }), ['id']],
  ['an id of 129 characters', tfRequest({ id: 'x'.repeat(129) }), ['id']],
  ['an id with a line in it', tfRequest({ id: 'a\nb' }), ['id']],
  ['no type', tfRequest({ type: undefined }), ['type']],
  ['an empty type', tfRequest({ type: '' }), ['type']],
  ['a type that is a list', tfRequest({ type: ['a'] }), ['type']],
  ['no payload', tfRequest({ payload: undefined }), ['payload']],
  ['a payload that is a list', tfRequest({ payload: [] }), ['payload']],
  ['a context that is a text', tfRequest({ context: 'home' }), ['context']],
  ['a conversation that is a number', tfRequest({ context: { conversationId: 1 } }), ['context.conversationId']],
  ['a parent that is empty', tfRequest({ context: { parentTaskId: '' } }), ['context.parentTaskId']],
  ['a user that is an object', tfRequest({ context: { user: {} } }), ['context.user']],
  ['a timestamp without a zone', tfRequest({ context: { timestamp: '2025-01-05T10:30:00' } }), ['context.timestamp']],
  ['an unknown priority', tfRequest({ context: { priority: 'critical' } }), ['context.priority']],
  ['routing that is a list', tfRequest({ routing: [] }), ['routing']],
  ['a source that is no agent id', tfRequest({ routing: { source: 'The Cook' } }), ['routing.source']],
  ['a target that is no agent id', tfRequest({ routing: { target: 5 } }), ['routing.target']],
  ['a chain that is a text', tfRequest({ routing: { delegationChain: 'a' } }), ['routing.delegationChain']],
  ['a chain of no agents', tfRequest({ routing: { delegationChain: ['a', 1] } }), ['routing.delegationChain[1]']],
  ['a trace that is a number', tfRequest({ observability: { traceId: 1 } }), ['observability.traceId']],
  ['a span that is a number', tfRequest({ observability: { spanId: 1 } }), ['observability.spanId']],
  ['baggage that is a list', tfRequest({ observability: { baggage: [] } }), ['observability.baggage']],
  ['a policy of no attempt', tfRequest({ retryPolicy: { maxAttempts: 0 } }), ['retryPolicy.maxAttempts']],
  ['a policy of half an attempt', tfRequest({ retryPolicy: { maxAttempts: 1.5 } }), ['retryPolicy.maxAttempts']],
  ['an unknown backoff', tfRequest({ retryPolicy: { backoffType: 'none' } }), ['retryPolicy.backoffType']],
  ['a negative delay', tfRequest({ retryPolicy: { initialDelay: -1 } }), ['retryPolicy.initialDelay']],
  ['a policy with more in it', tfRequest({ retryPolicy: { jitter: true } }), ['retryPolicy.jitter']],
  ['a response of unknown status', response('done'), ['status']],
  ['a response whose status is a number', response(5), ['status']],
  ['a response without an id', response('pending', { id: undefined }), ['id']],
  ['metadata that is a list', response('pending', { metadata: [] }), ['metadata']],
  ['a start without a zone', response('pending', { metadata: { startedAt: 'now' } }), ['metadata.startedAt']],
  ['an end that is a number', done({ metadata: { completedAt: 5 } }), ['metadata.completedAt']],
  ['a negative duration', done({ metadata: { duration_ms: -1 } }), ['metadata.duration_ms']],
  ['an agent that is no agent id', done({ metadata: { agent: '' } }), ['metadata.agent']],
  ['half a retry', done({ metadata: { retryCount: 0.5 } }), ['metadata.retryCount']],
  ['progress beyond 100', response('in_progress', { metadata: { progress: 101 } }), ['metadata.progress']],
  ['a result before the end', response('in_progress', { result: {} }), ['result']],
  ['an error with a result', done({ error }), ['error']],
  ['a failure without an error', failed(undefined), ['error']],
  ['a failure with a result', response('failed', { error, result: {} }), ['result']],
  ['an error without a code', failed({ message: 'x' }), ['error.code']],
  ['an error without a message', failed({ code: 'X' }), ['error.message']],
  ['details that are a text', failed({ ...error, details: 'x' }), ['error.details']],
  ['recoverable as a text', failed({ ...error, recoverable: 'yes' }), ['error.recoverable']],
  ['artifacts that are an object', done({ artifacts: {} }), ['artifacts']],
  ['an artifact without a name', done({ artifacts: [{ ...artifact, name: undefined }] }), ['artifacts[0].name']],
  ['an artifact without a type', done({ artifacts: [{ ...artifact, type: undefined }] }), ['artifacts[0].type']],
  ['an artifact of no media type', done({ artifacts: [{ ...artifact, type: 'text' }] }), ['artifacts[0].type']],
  [
    'a media type with a line in it',
    done({ artifacts: [{ ...artifact, type: 'a/b\r\nx: y' }] }),
    ['artifacts[0].type'],
  ],
  ['content that is an object', done({ artifacts: [{ ...artifact, content: {} }] }), ['artifacts[0].content']],
  [
    'content that is not in the encoding that is said',
    done({ artifacts: [{ ...artifact, content: 'AAAA*AAA', encoding: 'base64' }] }),
    ['artifacts[0].content'],
  ],
  ['an artifact that no address can name', done({ artifacts: [{ ...artifact, name: '..' }] }), ['artifacts[0].name']],
  ['an unknown encoding', done({ artifacts: [{ ...artifact, encoding: 'hex' }] }), ['artifacts[0].encoding']],
  ['two artifacts of one name', done({ artifacts: [artifact, artifact] }), ['artifacts']],
  [
    'too many artifacts',
    done({ artifacts: Array.from({ length: 65 }, (_, n) => ({ ...artifact, name: `${n}` })) }),
    ['artifacts'],
  ],
  ['an empty question', response('input_required', { input: { prompt: '' } }), ['input.prompt']],
  ['an id with a slash', tfRequest({ id: 'a/b' }), ['id']],
  ['an id of a dot', tfRequest({ id: '.' }), ['id']],
  ['an id with an invisible character', tfRequest({ id: 'a\u200bb' }), ['id']],
  ['an id of 129 characters of four bytes', tfRequest({ id: '𐍈'.repeat(129) }), ['id']],
  ['a signal without a recipient', signal({ to: undefined }), ['to']],
  ['a signal without a type', signal({ type: undefined }), ['type']],
  ['a signal whose id has a line in it', signal({ signalId: 'a\nb' }), ['signalId']],
  ['a signal whose payload is a text', signal({ payload: 'x' }), ['payload']],
  ['a schema that is a text', response('input_required', { input: { prompt: 'x', schema: 'any' } }), ['input.schema']],
];

describe('Task Format message validation', () => {
  it('rejects a bad message by its field and without a trace', async (t) => {
    const parley = await testParley(t);
    const { orchestrator } = await kitchen(parley);
    for (const [what, message, paths] of refused) {
      await t.test(`rejects a message with ${what}`, async () => {
        const reply = await refusedWithoutTrace(parley, 400, 'invalid_message', () => orchestrator.send(message));
        assert.deepEqual(
          reply.body.issues.map(({ path }: { path: string }) => path),
          paths,
        );
        assert.equal(reply.body.error.code, 'INVALID_INPUT');
      });
    }
  });

  it('reports all issues of a message at once', async (t) => {
    const { orchestrator } = await kitchen(await testParley(t));
    const spoiled = {
      id: '',
      payload: 1,
      context: { priority: 'x', timestamp: 'y' },
      routing: { target: '' },
      type: 1,
    };
    const reply = await orchestrator.send(spoiled);
    assertRefused(reply, 400, 'invalid_message');
    assert.deepEqual(reply.body.issues.map(({ path }: { path: string }) => path).sort(), [
      'context.priority',
      'context.timestamp',
      'id',
      'payload',
      'routing.target',
      'type',
    ]);
  });

  it('rejects as unknown_dialect what has fields of another protocol, unless its sender speaks Task Format', async (t) => {
    const parley = await testParley(t);
    const { orchestrator } = await kitchen(parley);
    const message = { ...tfRequest({ routing: { source: 'orchestrator' } }), domain: 'home', correlationId: 'x' };
    await refusedWithoutTrace(parley, 400, 'unknown_dialect', () => parley.admin.call('POST', '/v1/messages', message));
    const named = { 'parley-dialect': 'task-format' };
    assert.equal((await parley.admin.call('POST', '/v1/messages', message, named)).status, 202);
    assert.equal((await orchestrator.send({ ...message, id: 'another' })).body.dialect, 'task-format');
  });

  it('distinguishes Task Format requests from Round Table requests', async (t) => {
    const parley = await testParley(t);
    const { orchestrator } = await kitchen(parley);
    const reply = await orchestrator.send(taskRequest('orchestrator'));
    assert.equal(reply.body.dialect, 'round-table');
    assert.equal((await orchestrator.send(tfRequest())).body.dialect, 'task-format');
  });

  it('rejects a message about an unknown task', async (t) => {
    const parley = await testParley(t);
    const { orchestrator } = await kitchen(parley);
    await refusedWithoutTrace(parley, 404, 'task_not_found', () => orchestrator.send(response('pending')));
    await refusedWithoutTrace(parley, 404, 'task_not_found', () => orchestrator.send({ id: 'some-task', input: 1 }));
  });
});
