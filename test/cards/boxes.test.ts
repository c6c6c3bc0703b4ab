import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import config from '../../parley.config.ts';
import { assertRefused } from '../http/refusal.ts';
import type { Caller } from '../support/api.ts';
import { cardOf } from '../support/cards.ts';
import { enqueued, groundAgent, Worker } from '../support/ground.ts';
import { testParley } from '../support/test-parley.ts';

const cardsOf = (caller: Caller, ...thoughts: string[]) =>
  Promise.all(thoughts.map((thought) => cardOf(caller, thought)));

const outputBox = async (caller: Caller, wanted: object = {}): Promise<string> => {
  const { status, body } = await caller.call('POST', '/v1/boxes', { kind: 'output', ...wanted });
  assert.equal(status, 201, JSON.stringify(body));
  return body.box_id;
};

describe('context box', () => {
  it('keeps the cards of a context box in order, also a card that is in it twice', async (t) => {
    const { agent } = await testParley(t);
    const [writer, reader] = [await agent('writer'), await agent('reader')];
    const [a = '', b = ''] = await cardsOf(writer, 'yes', 'no');
    const { status, body } = await writer.call('POST', '/v1/boxes', { kind: 'context', cards: [b, a, b] });
    assert.equal(status, 201);
    assert.deepEqual((await reader.call('GET', `/v1/boxes/${body.box_id}`)).body, { ...body, cards: [b, a, b] });
    const page = await reader.call('GET', `/v1/boxes/${body.box_id}/cards`);
    assert.deepEqual(
      page.body.cards.map(({ content }: { content: string }) => content),
      ['no', 'yes', 'no'],
    );
    assert.equal(page.body.next, undefined);
  });

  it('gives context boxes with the same cards the same id', async (t) => {
    const { agent } = await testParley(t);
    const writer = await agent('writer');
    const [a, b] = await cardsOf(writer, 'a', 'b');
    const made = async (cards: unknown[]) => writer.call('POST', '/v1/boxes', { kind: 'context', cards });
    const [first, again, other] = [await made([a, b]), await made([a, b]), await made([b, a])];
    assert.deepEqual([first.status, again.status, other.status], [201, 200, 201]);
    assert.equal(again.body.box_id, first.body.box_id);
    assert.notEqual(other.body.box_id, first.body.box_id);
  });

  it('rejects an append to a context box, also from an administrator', async (t) => {
    const { agent, admin } = await testParley(t);
    const writer = await agent('writer');
    const cards = await cardsOf(writer, 'a');
    const { body } = await writer.call('POST', '/v1/boxes', { kind: 'context', cards });
    for (const caller of [writer, admin]) {
      assertRefused(await caller.call('POST', `/v1/boxes/${body.box_id}/append`, { cards }), 409, 'box_read_only');
    }
  });
});

describe('output box', () => {
  it('keeps the cards of an output box in the order of the appends', async (t) => {
    const { agent } = await testParley(t);
    const writer = await agent('writer');
    const [a = '', b = '', c = ''] = await cardsOf(writer, 'a', 'b', 'c');
    const id = await outputBox(writer);
    await writer.call('POST', `/v1/boxes/${id}/append`, { cards: [c] });
    const { status, body } = await writer.call('POST', `/v1/boxes/${id}/append`, { cards: [a, b] });
    assert.equal(status, 200);
    assert.deepEqual(body.cards, [c, a, b]);
    assert.deepEqual((await writer.call('GET', `/v1/boxes/${id}`)).body.cards, [c, a, b]);
  });

  it('keeps a card once in an output box when its append is repeated', async (t) => {
    const { agent } = await testParley(t);
    const writer = await agent('writer');
    const [a, b] = await cardsOf(writer, 'a', 'b');
    const id = await outputBox(writer);
    for (const cards of [[a], [a], [b], [a, a, b], [b]]) {
      assert.equal((await writer.call('POST', `/v1/boxes/${id}/append`, { cards })).status, 200);
    }
    assert.deepEqual((await writer.call('GET', `/v1/boxes/${id}`)).body.cards, [a, b]);
  });

  it('keeps all cards of concurrent appends to an output box', async (t) => {
    const { agent } = await testParley(t);
    const writer = await agent('writer');
    const cards = await cardsOf(writer, 'a', 'b', 'c');
    const id = await outputBox(writer);
    const done = await Promise.all(
      cards.map((card) => writer.call('POST', `/v1/boxes/${id}/append`, { cards: [card] })),
    );
    assert.deepEqual(
      done.map(({ status }) => status),
      [200, 200, 200],
    );
    assert.deepEqual((await writer.call('GET', `/v1/boxes/${id}`)).body.cards.toSorted(), cards.toSorted());
  });

  it('accepts appends to an output box only from its writer and administrators, and reads from anyone', async (t) => {
    const { agent, admin } = await testParley(t);
    const [writer, reader] = [await agent('writer'), await agent('reader')];
    const [a, b] = await cardsOf(reader, 'a', 'b');
    const id = await outputBox(admin, { agent_id: 'writer' });
    assertRefused(await reader.call('POST', `/v1/boxes/${id}/append`, { cards: [a] }), 403, 'not_writer');
    assert.equal((await writer.call('POST', `/v1/boxes/${id}/append`, { cards: [a] })).status, 200);
    assert.equal((await admin.call('POST', `/v1/boxes/${id}/append`, { cards: [b] })).status, 200);
    assert.deepEqual((await reader.call('GET', `/v1/boxes/${id}`)).body.cards, [a, b]);
    assertRefused(await reader.call('POST', '/v1/boxes', { kind: 'output', agent_id: 'writer' }), 403, 'from_mismatch');
    assertRefused(await admin.call('POST', '/v1/boxes', { kind: 'output', agent_id: 'nobody' }), 422, 'unknown_agent');
  });

  it('returns the existing output box when it is created again under a chosen id', async (t) => {
    const { agent } = await testParley(t);
    const [writer, reader] = [await agent('writer'), await agent('reader')];
    const [a] = await cardsOf(writer, 'a');
    assert.equal(await outputBox(writer, { box_id: 'out-1' }), 'out-1');
    await writer.call('POST', '/v1/boxes/out-1/append', { cards: [a] });
    const again = await writer.call('POST', '/v1/boxes', { kind: 'output', box_id: 'out-1' });
    assert.equal(again.status, 200);
    assert.deepEqual(again.body.cards, [a]);
    assertRefused(await reader.call('POST', '/v1/boxes', { kind: 'output', box_id: 'out-1' }), 409, 'id_reused');
  });

  it('rejects an append beyond the limit of a box, and keeps its cards', async (t) => {
    const { agent } = await testParley(t, { config: { cards: { ...config.cards, perBox: 3 } } });
    const writer = await agent('writer');
    const cards = await cardsOf(writer, 'a', 'b', 'c', 'd');
    const id = await outputBox(writer, { cards: cards.slice(0, 2) });
    assertRefused(await writer.call('POST', `/v1/boxes/${id}/append`, { cards }), 409, 'box_full');
    assert.deepEqual((await writer.call('GET', `/v1/boxes/${id}`)).body.cards, cards.slice(0, 2));
    assert.equal((await writer.call('POST', `/v1/boxes/${id}/append`, { cards: cards.slice(0, 3) })).status, 200);
    assertRefused(await writer.call('POST', '/v1/boxes', { kind: 'context', cards }), 409, 'box_full');
  });

  it('rejects an append to the box of a turn without the fencing token of that turn', async (t) => {
    const parley = await testParley(t);
    const writer = await groundAgent(parley, 'writer');
    const worker = new Worker(writer);
    const [a, b] = await cardsOf(writer, 'a', 'b');
    await enqueued(parley.admin, 'writer');
    const held = await worker.begin();
    const { agent_turn_id, turn_epoch } = held;
    const id = await outputBox(writer, { agent_turn_id });
    const append = (cards: unknown[], epoch?: number) =>
      writer.call('POST', `/v1/boxes/${id}/append`, { cards, turn_epoch: epoch });
    assertRefused(await append([a]), 400, 'invalid_request');
    assertRefused(await append([a], turn_epoch + 1), 409, 'stale_turn');
    assert.equal((await append([a], turn_epoch)).status, 200);
    assertRefused(await append([a], turn_epoch - 1), 409, 'stale_turn');
    await worker.deliver(held);
    assertRefused(await append([b], turn_epoch), 409, 'stale_turn');
    assertRefused(await append([a], turn_epoch), 409, 'stale_turn');
    const { body } = await parley.admin.call('GET', `/v1/boxes/${id}`);
    assert.deepEqual([body.cards, body.agent_turn_id], [[a], agent_turn_id]);
  });

  it('rejects a box for a turn of another agent', async (t) => {
    const parley = await testParley(t);
    const [writer, reader] = [
      await groundAgent(parley, 'writer', { capabilities: ['scribe'] }),
      await groundAgent(parley, 'reader', { capabilities: ['scribe'] }),
    ];
    const worker = new Worker(writer);
    const own = await enqueued(parley.admin, 'writer');
    const ofGroup = await enqueued(parley.admin, 'scribe');
    const wanted = (box_id: string, agent_turn_id: string) => ({ kind: 'output', box_id, agent_turn_id });
    for (const turn of [own, ofGroup, 'none']) {
      const refused = await reader.call('POST', '/v1/boxes', wanted('foreign', turn));
      assertRefused(refused, 404, 'turn_not_found');
    }
    const forAnother = { ...wanted('foreign', own), agent_id: 'reader' };
    assertRefused(await parley.admin.call('POST', '/v1/boxes', forAnother), 404, 'turn_not_found');
    assertRefused(await parley.admin.call('GET', '/v1/boxes/foreign'), 404, 'box_not_found');
    await outputBox(writer, wanted('early', own));
    await worker.deliver(await worker.begin());
    await outputBox(writer, wanted('late', own));
    assertRefused(await writer.call('POST', '/v1/boxes', wanted('foreign', ofGroup)), 404, 'turn_not_found');
    const held = await worker.begin();
    assert.equal(held.agent_turn_id, ofGroup);
    await outputBox(writer, wanted('at-once', ofGroup));
    assertRefused(await reader.call('POST', '/v1/boxes', wanted('foreign', ofGroup)), 404, 'turn_not_found');
  });
});

describe('boxes', () => {
  it('rejects unknown cards in a box', async (t) => {
    const { agent } = await testParley(t);
    const writer = await agent('writer');
    const [a] = await cardsOf(writer, 'a');
    const unknown = `card_${'x'.repeat(43)}`;
    const id = await outputBox(writer);
    for (const act of [
      () => writer.call('POST', '/v1/boxes', { kind: 'context', cards: [a, unknown] }),
      () => writer.call('POST', '/v1/boxes', { kind: 'output', cards: [unknown] }),
      () => writer.call('POST', `/v1/boxes/${id}/append`, { cards: [a, unknown] }),
    ]) {
      const reply = await act();
      assertRefused(reply, 422, 'unknown_card');
      assert.deepEqual(reply.body.unknown, [unknown]);
    }
    assert.deepEqual((await writer.call('GET', `/v1/boxes/${id}`)).body.cards, []);
  });

  it('keeps a card for at least half its lifetime after it was added to a box', async (t) => {
    const DAY_MS = 86_400_000;
    const { agent, clock } = await testParley(t);
    const writer = await agent('writer');
    const [a] = await cardsOf(writer, 'a');
    clock.advance(29 * DAY_MS);
    const id = await outputBox(writer, { cards: [a] });
    clock.advance(15 * DAY_MS - 1000);
    assert.equal((await writer.call('GET', `/v1/boxes/${id}/cards`)).body.cards.length, 1);
    clock.advance(16 * DAY_MS);
    assertRefused(await writer.call('GET', `/v1/boxes/${id}`), 404, 'box_not_found');
  });

  it('returns the cards of a box in pages that fit into a response', async (t) => {
    const { agent } = await testParley(t);
    const writer = await agent('writer');
    const cards = await Promise.all(
      Array.from({ length: 5 }, (_, n) => cardOf(writer, `${n}${'x'.repeat(1_400_000)}`)),
    );
    const id = await outputBox(writer, { cards });
    const read: string[] = [];
    for (let from: number | undefined = 0, pages = 0; from !== undefined; pages++) {
      assert.ok(pages < 5);
      const { status, body } = await writer.call('GET', `/v1/boxes/${id}/cards?from=${from}`);
      assert.equal(status, 200);
      assert.ok(JSON.stringify(body).length < 4_000_000);
      read.push(...body.cards.map(({ content }: { content: string }) => content.charAt(0)));
      from = body.next;
    }
    assert.deepEqual(read, ['0', '1', '2', '3', '4']);
    assert.deepEqual((await writer.call('GET', `/v1/boxes/${id}/cards?from=4&limit=1`)).body.next, undefined);
    assert.equal((await writer.call('GET', `/v1/boxes/${id}/cards?from=1&limit=1`)).body.next, 2);
  });

  it('rejects malformed box requests and unknown box ids', async (t) => {
    const { agent } = await testParley(t);
    const writer = await agent('writer');
    const id = await outputBox(writer);
    for (const wanted of [
      {},
      { kind: 'context' },
      { kind: 'context', cards: [] },
      { kind: 'context', cards: ['x'] },
      { kind: 'context', cards: 'x' },
      { kind: 'context', cards: [], box_id: 'x' },
      { kind: 'output', box_id: 'box_x' },
      { kind: 'output', box_id: 'a#b' },
      { kind: 'other' },
    ]) {
      assertRefused(await writer.call('POST', '/v1/boxes', wanted), 400, 'invalid_request');
    }
    for (const body of [{}, { cards: [] }, { cards: [7] }, { cards: Array(101).fill(`card_${'x'.repeat(43)}`) }]) {
      assertRefused(await writer.call('POST', `/v1/boxes/${id}/append`, body), 400, 'invalid_request');
    }
    for (const path of ['none', 'none/cards', 'a%23b']) {
      assertRefused(await writer.call('GET', `/v1/boxes/${path}`), 404, 'box_not_found');
    }
    const { body } = await writer.call('POST', '/v1/cards', { type: 'agent.thought', content: 1 });
    assertRefused(await writer.call('POST', '/v1/boxes/none/append', { cards: [body.card_id] }), 404, 'box_not_found');
  });
});
