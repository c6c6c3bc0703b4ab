import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import config from '../../parley.config.ts';
import { ADMIN_OWNER, generateKey } from '../../shared/identity/auth/keys.ts';
import { setAdminKey } from '../../shared/identity/auth/set-operator-key.ts';
import { assertRefused } from '../http/refusal.ts';
import { callerWith } from '../support/api.ts';
import { cardOf } from '../support/cards.ts';
import { eventually } from '../support/eventually.ts';
import { type TestParley, testParley } from '../support/test-parley.ts';

const DAY_MS = 86_400_000;

const blobsOf = ({ dir }: TestParley) =>
  readdirSync(join(dir, 'blobs'), { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());

describe('card', () => {
  it('returns the JSON content, the type and the creator of a card', async (t) => {
    const { agent } = await testParley(t);
    const [writer, reader] = [await agent('writer'), await agent('reader')];
    for (const content of [
      'text',
      0,
      false,
      null,
      [],
      {},
      { deep: [{ er: 'ü' }] },
      'x'.repeat(8190),
      'x'.repeat(8191),
    ]) {
      const made = await writer.call('POST', '/v1/cards', { type: 'tool.result', content });
      assert.equal(made.status, 201);
      const { status, body } = await reader.call('GET', `/v1/cards/${made.body.card_id}`);
      assert.equal(status, 200);
      assert.deepEqual(body.content, content);
      assert.equal(body.card_id, made.body.card_id);
      assert.equal(body.type, 'tool.result');
      assert.equal(body.created_by, 'writer');
      assert.equal(body.created_at, '2026-03-01T12:00:00.000Z');
    }
  });

  it('gives cards of the same type and content the same id, and other cards another', async (t) => {
    const { agent } = await testParley(t);
    const [writer, reader] = [await agent('writer'), await agent('reader')];
    const first = await writer.call('POST', '/v1/cards', { type: 'tool.call', content: { a: 1, b: [1, 2] } });
    const again = await reader.call('POST', '/v1/cards', { type: 'tool.call', content: { b: [1, 2], a: 1 } });
    assert.deepEqual([first.status, again.status], [201, 201]);
    assert.equal(again.body.card_id, first.body.card_id);
    assert.equal((await reader.call('GET', `/v1/cards/${first.body.card_id}`)).body.created_by, 'writer');
    const others = [
      await cardOf(writer, { a: 1, b: [2, 1] }, 'tool.call'),
      await cardOf(writer, { a: 1, b: [1, 2] }, 'tool.result'),
      await cardOf(writer, { a: '1', b: [1, 2] }, 'tool.call'),
    ];
    assert.equal(new Set([first.body.card_id, ...others]).size, 4);
  });

  it('accepts cards of any type that is words with dots between them, and rejects other types by name', async (t) => {
    const { agent } = await testParley(t);
    const writer = await agent('writer');
    const types = [
      'task.instruction',
      'agent.thought',
      'tool.call',
      'tool.result',
      'task.deliverable',
      'sys.prompt',
      'sys.a.b_2',
      'task.context',
      'task.result_fields',
      'agent.error',
      'meta.parent_pointer',
    ];
    for (const type of types)
      assert.equal((await writer.call('POST', '/v1/cards', { type, content: 1 })).status, 201, type);
    for (const type of ['guess', 'sys', 'sys.', 'sys.A', '.x', 'a..b', 'Tool.call', `sys.${'x'.repeat(61)}`, 7]) {
      const reply = await writer.call('POST', '/v1/cards', { type, content: 1 });
      assertRefused(reply, 400, 'invalid_request');
      assert.match(JSON.stringify(reply.body.issues), new RegExp(`${String(type).slice(0, 40)}.*no type of card`));
    }
  });

  it('rejects a card without content, with unknown fields or with too much content', async (t) => {
    const { agent } = await testParley(t, { config: { limits: { ...config.limits, outputBytes: 1000 } } });
    const writer = await agent('writer');
    assertRefused(await writer.call('POST', '/v1/cards', { type: 'tool.call' }), 400, 'invalid_request');
    assertRefused(
      await writer.call('POST', '/v1/cards', { type: 'tool.call', content: 1, id: 'x' }),
      400,
      'invalid_request',
    );
    assertRefused(
      await writer.call('POST', '/v1/cards', { type: 'tool.call', content: 'x'.repeat(1000) }),
      413,
      'too_large',
    );
    assert.equal((await writer.call('POST', '/v1/cards', { type: 'tool.call', content: 'x'.repeat(998) })).status, 201);
  });

  it('returns card_not_found for a card that nobody created', async (t) => {
    const { admin } = await testParley(t);
    for (const id of ['x', `card_${'a'.repeat(43)}`, '%23', '..', `card_${'a'.repeat(42)}%23`]) {
      assertRefused(await admin.call('GET', `/v1/cards/${id}`), 404, 'card_not_found');
    }
  });

  it('stores one blob for a large card that is created several times at once', async (t) => {
    const parley = await testParley(t);
    const writer = await parley.agent('writer');
    const content = { text: 'x'.repeat(20_000) };
    const made = await Promise.all(
      Array.from({ length: 5 }, () => writer.call('POST', '/v1/cards', { type: 'tool.result', content })),
    );
    assert.deepEqual(
      made.map(({ status }) => status),
      [201, 201, 201, 201, 201],
    );
    assert.equal(blobsOf(parley).length, 1);
    assert.deepEqual((await writer.call('GET', `/v1/cards/${made[0]?.body.card_id}`)).body.content, content);
  });

  it('deletes an expired card with its blob, and accepts it again', async (t) => {
    const parley = await testParley(t);
    const writer = await parley.agent('writer');
    const content = 'y'.repeat(20_000);
    const id = await cardOf(writer, content);
    parley.clock.advance(30 * DAY_MS - 1000);
    assert.equal((await writer.call('GET', `/v1/cards/${id}`)).status, 200);
    parley.clock.advance(62_000);
    assertRefused(await writer.call('GET', `/v1/cards/${id}`), 404, 'card_not_found');
    await eventually(() => assert.deepEqual(blobsOf(parley), []));
    assert.equal(await cardOf(writer, content), id);
    assert.deepEqual((await writer.call('GET', `/v1/cards/${id}`)).body.content, content);
  });

  it('keeps a card that is created again for at least half its lifetime', async (t) => {
    const { agent, clock } = await testParley(t);
    const writer = await agent('writer');
    const id = await cardOf(writer, 'a thought');
    for (let round = 0; round < 4; round++) {
      clock.advance(14 * DAY_MS);
      const again = await writer.call('POST', '/v1/cards', { type: 'agent.thought', content: 'a thought' });
      assert.deepEqual([again.status, again.body.card_id], [201, id]);
    }
    clock.advance(15 * DAY_MS - 1000);
    assert.equal((await writer.call('GET', `/v1/cards/${id}`)).status, 200);
  });

  it('hides a card from other projects', async (t) => {
    const { default: project } = config.projects;
    assert.ok(project);
    const parley = await testParley(t, { config: { projects: { default: project, other: project } } });
    const id = await cardOf(parley.admin, 'ours');
    const key = generateKey('other', ADMIN_OWNER);
    await setAdminKey(parley.parley.deps.records, 'other', key, 'the-admin-of-other');
    const other = callerWith(parley.transport, key);
    assertRefused(await other.call('GET', `/v1/cards/${id}`), 404, 'card_not_found');
    assert.equal((await other.call('POST', '/v1/cards', { type: 'agent.thought', content: 'ours' })).status, 201);
  });
});
