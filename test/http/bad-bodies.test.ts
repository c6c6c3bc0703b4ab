import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ParleyErrorCode } from '../../shared/kernel/errors.ts';
import { taskRequest } from '../support/api.ts';
import { mrMessage } from '../support/message-routing.ts';
import { testParley } from '../support/test-parley.ts';
import { refusedWithoutTrace } from './refusal.ts';

const valid = JSON.stringify(taskRequest('tim'));
const withParams = (params: string): string => valid.replace('{"scope":"daily"}', params);
/** So many arrays, one in the other. */
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

describe('a body that cannot be read', () => {
  it('is refused and changes nothing', async (t) => {
    const parley = await testParley(t);
    const tim = await parley.agent('tim');
    for (const [what, body, code] of refused) {
      await t.test(what, async () => {
        await refusedWithoutTrace(parley, 400, code, () => tim.call('POST', '/v1/messages', body));
      });
    }
  });

  it('is refused by every call that takes one', async (t) => {
    const parley = await testParley(t);
    const tim = await parley.agent('tim');
    for (const path of ['/v1/claims', '/v1/inbox/ack', '/v1/tasks/any/renew', '/v1/tasks/any/cancel']) {
      await refusedWithoutTrace(parley, 400, 'invalid_json', () => tim.call('POST', path, '{'));
    }
    await refusedWithoutTrace(parley, 400, 'invalid_json', () => parley.admin.call('PUT', '/v1/agents/kay', '{'));
  });

  it('is refused by calls that take none, unless it is an empty object', async (t) => {
    const parley = await testParley(t);
    const tim = await parley.agent('tim');
    const id = await tim.request();
    for (const path of ['cancel', 'retry'].map((verb) => `/v1/tasks/${id}/${verb}`)) {
      for (const body of ['{"reason":"late"}', '[]', 'null', '0']) {
        await refusedWithoutTrace(parley, 400, 'invalid_request', () => tim.call('POST', path, body));
      }
    }
    await refusedWithoutTrace(parley, 400, 'invalid_request', () => tim.call('GET', `/v1/tasks/${id}`, '{"wait":5}'));
    assert.equal((await tim.call('POST', `/v1/tasks/${id}/cancel`, {})).status, 200);
  });

  it('is told where its flaw is', async (t) => {
    const parley = await testParley(t);
    const tim = await parley.agent('tim');
    const reply = await tim.call('POST', '/v1/messages', withParams('{"a":[1,{"b":"\\ud83d"}]}'));
    assert.equal(reply.body.issues[0].path, 'payload.params.a[1].b');
  });
});

describe('a body that is too large', () => {
  it('is refused with the limit, and changes nothing', async (t) => {
    const parley = await testParley(t);
    const tim = await parley.agent('tim');
    const { bodyBytes } = parley.parley.deps.config.limits;
    const tooLarge = valid.padEnd(bodyBytes + 1);
    const reply = await refusedWithoutTrace(parley, 413, 'too_large', () => tim.call('POST', '/v1/messages', tooLarge));
    assert.equal(reply.body.limit, bodyBytes);
    assert.equal((await tim.call('POST', '/v1/messages', valid.padEnd(bodyBytes))).status, 202);
  });

  it('is refused where only the input of the task is', async (t) => {
    const parley = await testParley(t);
    const tim = await parley.agent('tim');
    const { inputBytes } = parley.parley.deps.config.limits;
    const sized = (bytes: number) =>
      taskRequest('tim', { payload: { params: { text: 'x'.repeat(bytes - '{"text":""}'.length) } } });
    const reply = await refusedWithoutTrace(parley, 413, 'too_large', () => tim.send(sized(inputBytes + 1)));
    assert.equal(reply.body.limit, inputBytes);
    assert.equal(reply.body.bytes, inputBytes + 1);
    assert.equal((await tim.send(sized(inputBytes))).status, 202);
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
    it(`reaches the claimer unchanged: ${what}`, async (t) => {
      const { agent } = await testParley(t);
      const [tim, galahad] = [await agent('tim'), await agent('galahad')];
      assert.equal((await tim.call('POST', '/v1/messages', withParams(params))).status, 202);
      const [claimed] = await galahad.claim();
      assert.deepEqual(claimed.message.payload.params, JSON.parse(params));
      assert.equal((await galahad.complete(claimed.message.id, JSON.parse(params))).status, 202);
      assert.deepEqual((await tim.task(claimed.message.id)).result, JSON.parse(params));
    });
  }
});

describe('what is wrong with a message', () => {
  const { msg_id: _missing, ...nameless } = mrMessage('status-update', 'tim', 'tim');
  const told: [what: string, message: object, issues: object[]][] = [
    [
      'a missing field',
      { ...taskRequest('tim'), from: 'tim', id: undefined },
      [{ path: 'id', message: 'must be a UUID, version 4' }],
    ],
    ['a field of another kind', { ...taskRequest('tim'), ttl: 'soon' }, [{ path: 'ttl', message: 'must be a number' }]],
    [
      'a value of no list',
      { ...taskRequest('tim'), priority: 'x' },
      [{ path: 'priority', message: 'must be one of critical, high, normal, low' }],
    ],
    ['too large a number', { ...taskRequest('tim'), ttl: 1e9 }, [{ path: 'ttl', message: 'must be at most 604800' }]],
    ['a missing text', { ...taskRequest('tim'), payload: {} }, [{ path: 'payload.task', message: 'is required' }]],
    [
      'keys that nobody knows',
      { subject: 'x', payload: {}, a: 1, b: 2 },
      ['a', 'b'].map((path) => ({ path, message: 'unknown field' })),
    ],
    ['what its dialect is known by', nameless, [{ path: 'msg_id', message: 'is required' }]],
  ];
  it('is told by its place and in plain words', async (t) => {
    const parley = await testParley(t);
    const tim = await parley.agent('tim');
    for (const [what, message, issues] of told) {
      await t.test(what, async () => assert.deepEqual((await tim.send(message)).body.issues, issues));
    }
  });

  const near: [message: object, nearest: string | null][] = [
    [{}, null],
    [{ colour: 'red' }, null],
    [{ payload: {}, headers: {} }, 'common-ground'],
    [{ type: 'heartbeat', sequence: 1, requires_ack: true }, 'message-routing'],
    [{ type: 'task.claimed', correlationId: '1', from: 'tim', payload: {} }, 'round-table'],
    [{ type: 'query', evidence: {}, payload: {} }, 'agent-os'],
    [{ id: '1', type: 'x', payload: {}, routing: {}, colour: 'red' }, 'task-format'],
  ];
  it('is told by the dialect that it resembles most, if any', async (t) => {
    const parley = await testParley(t);
    const tim = await parley.agent('tim');
    for (const [message, nearest] of near) {
      const { body } = await tim.send(message);
      assert.deepEqual([body.code, body.nearest], ['unknown_dialect', nearest], JSON.stringify(message));
    }
  });

  it('is told in the words of the dialect whose type it has', async (t) => {
    const parley = await testParley(t);
    const tim = await parley.agent('tim');
    const { body } = await tim.send(nameless);
    assert.deepEqual([body.code, body.messageRouting.error], ['invalid_message', 'VALIDATION_FAILED']);
  });
});
