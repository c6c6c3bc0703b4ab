import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import type { ParleyErrorCode } from '../../shared/kernel/errors.ts';
import { about, taskRequest } from '../support/api.ts';
import { mrMessage } from '../support/message-routing.ts';
import { testParley } from '../support/test-parley.ts';
import { refusedWithoutTrace } from './refusal.ts';

const valid = JSON.stringify(taskRequest('requester'));
const withParams = (params: string): string => valid.replace('{"scope":"daily"}', params);
const nested = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels);
const fields = (count: number): string =>
  JSON.stringify(Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, index])));
/** The message, its payload and its params are three levels themselves. */
const messageOfLevels = (levels: number): string => withParams(`{"deep":${nested(levels - 3)}}`);

const refused: [what: string, body: string | Uint8Array, code: ParleyErrorCode][] = [
  ['half an object', '{"id":', 'invalid_json'],
  ['text behind the JSON', `${valid} and more`, 'invalid_json'],
  ['bytes that are not UTF-8', Uint8Array.of(0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d), 'invalid_json'],
  ['nothing', '', 'invalid_request'],
  ['an array', `[${valid}]`, 'invalid_request'],
  ['a number', '5', 'invalid_request'],
  ['a text', '"task.request"', 'invalid_request'],
  ['null', 'null', 'invalid_request'],
  ['an object of no known shape', '{}', 'unknown_dialect'],
  ['the key __proto__', valid.replace('{', '{"__proto__":{"admin":true},'), 'invalid_json'],
  ['the key __proto__ deep inside', withParams('{"a":[{"__proto__":{}}]}'), 'invalid_json'],
  ['half a surrogate pair', withParams('{"a":"\\ud83d"}'), 'invalid_json'],
  ['half a surrogate pair in a key', withParams('{"\\udc00":1}'), 'invalid_json'],
  ['65 levels', messageOfLevels(65), 'invalid_json'],
  ['100,000 levels', messageOfLevels(100_000), 'invalid_json'],
  ['10,001 fields in one object', withParams(fields(10_001)), 'invalid_json'],
  ['10,001 fields of its own', fields(10_001), 'invalid_json'],
  ['a number that no reader can hold', withParams('{"a":1e999}'), 'invalid_json'],
];

describe('unreadable body', () => {
  it('rejects an unreadable body without any effect', async (t) => {
    const parley = await testParley(t);
    const requester = await parley.agent('requester');
    for (const [what, body, code] of refused) {
      await t.test(what, async () => {
        await refusedWithoutTrace(parley, 400, code, () => requester.call('POST', '/v1/messages', body));
      });
    }
  });

  it('rejects invalid JSON on every call that takes a body', async (t) => {
    const parley = await testParley(t);
    const requester = await parley.agent('requester');
    for (const path of ['/v1/claims', '/v1/inbox/ack', '/v1/tasks/any/renew', '/v1/tasks/any/cancel']) {
      await refusedWithoutTrace(parley, 400, 'invalid_json', () => requester.call('POST', path, '{'));
    }
    await refusedWithoutTrace(parley, 400, 'invalid_json', () =>
      parley.admin.call('PUT', '/v1/agents/other-agent', '{'),
    );
  });

  it('rejects a body on calls that take none, except an empty object', async (t) => {
    const parley = await testParley(t);
    const requester = await parley.agent('requester');
    const id = await requester.request();
    for (const body of ['{"reason":"late"}', '[]', 'null', '0']) {
      const cancel = () => requester.call('POST', '/v1/graphs/none/cancel', body);
      await refusedWithoutTrace(parley, 400, 'invalid_request', cancel);
    }
    await refusedWithoutTrace(parley, 400, 'invalid_request', () =>
      requester.call('GET', `/v1/tasks/${id}`, '{"wait":5}'),
    );
    assert.equal((await requester.call('POST', `/v1/tasks/${id}/cancel`, {})).status, 200);
  });

  it('names the path of an invalid value in a body', async (t) => {
    const parley = await testParley(t);
    const requester = await parley.agent('requester');
    const reply = await requester.call('POST', '/v1/messages', withParams('{"a":[1,{"b":"\\ud83d"}]}'));
    assert.equal(reply.body.issues[0].path, 'payload.params.a[1].b');
  });
});

describe('oversized body', () => {
  it('rejects a body above the limit with 413 and the limit, without any effect', async (t) => {
    const parley = await testParley(t);
    const requester = await parley.agent('requester');
    const { bodyBytes } = parley.parley.deps.config.limits;
    const tooLarge = valid.padEnd(bodyBytes + 1);
    const reply = await refusedWithoutTrace(parley, 413, 'too_large', () =>
      requester.call('POST', '/v1/messages', tooLarge),
    );
    assert.equal(reply.body.limit, bodyBytes);
    assert.equal((await requester.call('POST', '/v1/messages', valid.padEnd(bodyBytes))).status, 202);
  });

  it('rejects a task input above its own limit', async (t) => {
    const parley = await testParley(t);
    const requester = await parley.agent('requester');
    const { inputBytes } = parley.parley.deps.config.limits;
    const sized = (bytes: number) =>
      taskRequest('requester', { payload: { params: { text: 'x'.repeat(bytes - '{"text":""}'.length) } } });
    const reply = await refusedWithoutTrace(parley, 413, 'too_large', () => requester.send(sized(inputBytes + 1)));
    assert.equal(reply.body.limit, inputBytes);
    assert.equal(reply.body.bytes, inputBytes + 1);
    assert.equal((await requester.send(sized(inputBytes))).status, 202);
  });
});

describe('unusual JSON', () => {
  const unusual: [what: string, params: string][] = [
    ['64 levels', `{"deep":${nested(61)}}`],
    ['10,000 fields', fields(10_000)],
    ['10,000 elements', JSON.stringify({ list: Array.from({ length: 10_000 }, (_, index) => index) })],
    ['keys that objects are born with', '{"constructor":{"prototype":{"x":1}},"toString":"a","hasOwnProperty":null}'],
    ['control characters, emoji and other scripts', JSON.stringify({ text: '\u0000\u001f\u2028 🛡️ 円卓', '': '' })],
    ['numbers at the edge', '{"a":9007199254740991,"b":-1.5e-300,"c":1.7976931348623157e308}'],
  ];
  for (const [what, params] of unusual) {
    it(`delivers unusual JSON unchanged to the holder: ${what}`, async (t) => {
      const { agent } = await testParley(t);
      const [requester, worker] = [await agent('requester'), await agent('worker')];
      assert.equal((await requester.call('POST', '/v1/messages', withParams(params))).status, 202);
      const [claimed] = await worker.claim();
      assert.deepEqual(claimed.message.payload.params, JSON.parse(params));
      assert.equal((await worker.complete(claimed.message.id, JSON.parse(params))).status, 202);
      assert.deepEqual((await requester.task(claimed.message.id)).result, JSON.parse(params));
    });
  }
});

describe('message issues', () => {
  const { msg_id: _missing, ...nameless } = mrMessage('status-update', 'requester', 'requester');
  const told: [what: string, message: object, issues: object[]][] = [
    [
      'a missing field',
      { ...taskRequest('requester'), from: 'requester', id: undefined },
      [{ path: 'id', message: 'must be a UUID, version 4' }],
    ],
    [
      'a field of another kind',
      { ...taskRequest('requester'), ttl: 'soon' },
      [{ path: 'ttl', message: 'must be a number' }],
    ],
    [
      'a value of no list',
      { ...taskRequest('requester'), priority: 'x' },
      [{ path: 'priority', message: 'must be one of critical, high, normal, low' }],
    ],
    [
      'too large a number',
      { ...about('task.progress', 'requester', randomUUID(), { percent: 101 }) },
      [{ path: 'payload.percent', message: 'must be at most 100' }],
    ],
    [
      'a missing text',
      { ...taskRequest('requester'), payload: {} },
      [{ path: 'payload.task', message: 'is required' }],
    ],
    [
      'keys that nobody knows',
      { subject: 'x', payload: {}, a: 1, b: 2 },
      ['a', 'b'].map((path) => ({ path, message: 'unknown field' })),
    ],
    ['what its dialect is known by', nameless, [{ path: 'msg_id', message: 'is required' }]],
  ];
  it('returns the path and a plain message for each issue', async (t) => {
    const parley = await testParley(t);
    const requester = await parley.agent('requester');
    for (const [what, message, issues] of told) {
      await t.test(what, async () => assert.deepEqual((await requester.send(message)).body.issues, issues));
    }
  });

  const near: [message: object, nearest: string | null][] = [
    [{}, null],
    [{ colour: 'red' }, null],
    [{ payload: {}, headers: {} }, 'common-ground'],
    [{ type: 'heartbeat', sequence: 1, requires_ack: true }, 'message-routing'],
    [{ type: 'task.claimed', correlationId: '1', from: 'requester', payload: {} }, 'round-table'],
    [{ type: 'query', evidence: {}, payload: {} }, 'agent-os'],
    [{ id: '1', type: 'x', routing: {}, colour: 'red' }, 'task-format'],
  ];
  it('names the dialect that an unknown message resembles most, if any', async (t) => {
    const parley = await testParley(t);
    const requester = await parley.agent('requester');
    for (const [message, nearest] of near) {
      const { body } = await requester.send(message);
      assert.deepEqual([body.code, body.nearest], ['unknown_dialect', nearest], JSON.stringify(message));
    }
  });

  it('returns the error of the dialect that the type of the message belongs to', async (t) => {
    const parley = await testParley(t);
    const requester = await parley.agent('requester');
    const { body } = await requester.send(nameless);
    assert.deepEqual([body.code, body.messageRouting.error], ['invalid_message', 'VALIDATION_FAILED']);
  });
});
