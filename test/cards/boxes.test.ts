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

describe('a context box', () => {
  it('is a list of cards in their order, which may name one twice', async (t) => {
    const { agent } = await testParley(t);
    const [tim, kay] = [await agent('tim'), await agent('kay')];
    const [a = '', b = ''] = await cardsOf(tim, 'yes', 'no');
    const { status, body } = await tim.call('POST', '/v1/boxes', { kind: 'context', cards: [b, a, b] });
    assert.equal(status, 201);
    assert.deepEqual((await kay.call('GET', `/v1/boxes/${body.box_id}`)).body, { ...body, cards: [b, a, b] });
    const page = await kay.call('GET', `/v1/boxes/${body.box_id}/cards`);
    assert.deepEqual(
      page.body.cards.map(({ content }: { content: string }) => content),
      ['no', 'yes', 'no'],
    );
    assert.equal(page.body.next, undefined);
  });

  it('is the same box where its cards are the same', async (t) => {
    const { agent } = await testParley(t);
    const tim = await agent('tim');
    const [a, b] = await cardsOf(tim, 'a', 'b');
    const made = async (cards: unknown[]) => tim.call('POST', '/v1/boxes', { kind: 'context', cards });
    const [first, again, other] = [await made([a, b]), await made([a, b]), await made([b, a])];
    assert.deepEqual([first.status, again.status, other.status], [201, 200, 201]);
    assert.equal(again.body.box_id, first.body.box_id);
    assert.notEqual(other.body.box_id, first.body.box_id);
  });

  it('never changes, not even by an administrator', async (t) => {
    const { agent, admin } = await testParley(t);
    const tim = await agent('tim');
    const cards = await cardsOf(tim, 'a');
    const { body } = await tim.call('POST', '/v1/boxes', { kind: 'context', cards });
    for (const caller of [tim, admin]) {
      assertRefused(await caller.call('POST', `/v1/boxes/${body.box_id}/append`, { cards }), 409, 'box_read_only');
    }
  });
});

describe('an output box', () => {
  it('grows at its end, in the order of the appends', async (t) => {
    const { agent } = await testParley(t);
    const tim = await agent('tim');
    const [a = '', b = '', c = ''] = await cardsOf(tim, 'a', 'b', 'c');
    const id = await outputBox(tim);
    await tim.call('POST', `/v1/boxes/${id}/append`, { cards: [c] });
    const { status, body } = await tim.call('POST', `/v1/boxes/${id}/append`, { cards: [a, b] });
    assert.equal(status, 200);
    assert.deepEqual(body.cards, [c, a, b]);
    assert.deepEqual((await tim.call('GET', `/v1/boxes/${id}`)).body.cards, [c, a, b]);
  });

  it('takes a card once, however often and whenever the append is repeated', async (t) => {
    const { agent } = await testParley(t);
    const tim = await agent('tim');
    const [a, b] = await cardsOf(tim, 'a', 'b');
    const id = await outputBox(tim);
    for (const cards of [[a], [a], [b], [a, a, b], [b]]) {
      assert.equal((await tim.call('POST', `/v1/boxes/${id}/append`, { cards })).status, 200);
    }
    assert.deepEqual((await tim.call('GET', `/v1/boxes/${id}`)).body.cards, [a, b]);
  });

  it('loses no card where many are appended at once', async (t) => {
    const { agent } = await testParley(t);
    const tim = await agent('tim');
    const cards = await cardsOf(tim, 'a', 'b', 'c');
    const id = await outputBox(tim);
    const done = await Promise.all(cards.map((card) => tim.call('POST', `/v1/boxes/${id}/append`, { cards: [card] })));
    assert.deepEqual(
      done.map(({ status }) => status),
      [200, 200, 200],
    );
    assert.deepEqual((await tim.call('GET', `/v1/boxes/${id}`)).body.cards.toSorted(), cards.toSorted());
  });

  it('has one writer, beside administrators; anyone may read it', async (t) => {
    const { agent, admin } = await testParley(t);
    const [tim, kay] = [await agent('tim'), await agent('kay')];
    const [a, b] = await cardsOf(kay, 'a', 'b');
    const id = await outputBox(admin, { agent_id: 'tim' });
    assertRefused(await kay.call('POST', `/v1/boxes/${id}/append`, { cards: [a] }), 403, 'not_writer');
    assert.equal((await tim.call('POST', `/v1/boxes/${id}/append`, { cards: [a] })).status, 200);
    assert.equal((await admin.call('POST', `/v1/boxes/${id}/append`, { cards: [b] })).status, 200);
    assert.deepEqual((await kay.call('GET', `/v1/boxes/${id}`)).body.cards, [a, b]);
    assertRefused(await kay.call('POST', '/v1/boxes', { kind: 'output', agent_id: 'tim' }), 403, 'from_mismatch');
    assertRefused(await admin.call('POST', '/v1/boxes', { kind: 'output', agent_id: 'nobody' }), 422, 'unknown_agent');
  });

  it('under a chosen id is found again by making it again, with what it has by then', async (t) => {
    const { agent } = await testParley(t);
    const [tim, kay] = [await agent('tim'), await agent('kay')];
    const [a] = await cardsOf(tim, 'a');
    assert.equal(await outputBox(tim, { box_id: 'out-1' }), 'out-1');
    await tim.call('POST', '/v1/boxes/out-1/append', { cards: [a] });
    const again = await tim.call('POST', '/v1/boxes', { kind: 'output', box_id: 'out-1' });
    assert.equal(again.status, 200);
    assert.deepEqual(again.body.cards, [a]);
    assertRefused(await kay.call('POST', '/v1/boxes', { kind: 'output', box_id: 'out-1' }), 409, 'id_reused');
  });

  it('is bounded, and a refused append leaves it as it was', async (t) => {
    const { agent } = await testParley(t, { config: { cards: { ...config.cards, perBox: 3 } } });
    const tim = await agent('tim');
    const cards = await cardsOf(tim, 'a', 'b', 'c', 'd');
    const id = await outputBox(tim, { cards: cards.slice(0, 2) });
    assertRefused(await tim.call('POST', `/v1/boxes/${id}/append`, { cards }), 409, 'box_full');
    assert.deepEqual((await tim.call('GET', `/v1/boxes/${id}`)).body.cards, cards.slice(0, 2));
    assert.equal((await tim.call('POST', `/v1/boxes/${id}/append`, { cards: cards.slice(0, 3) })).status, 200);
    assertRefused(await tim.call('POST', '/v1/boxes', { kind: 'context', cards }), 409, 'box_full');
  });

  it('of a turn is written to only by whoever holds the turn, and by nobody after it', async (t) => {
    const parley = await testParley(t);
    const merlin = await groundAgent(parley, 'merlin');
    const worker = new Worker(merlin);
    const [a, b] = await cardsOf(merlin, 'a', 'b');
    await enqueued(parley.admin, 'merlin');
    const held = await worker.begin();
    const { agent_turn_id, turn_epoch } = held;
    const id = await outputBox(merlin, { agent_turn_id });
    const append = (cards: unknown[], epoch?: number) =>
      merlin.call('POST', `/v1/boxes/${id}/append`, { cards, turn_epoch: epoch });
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

  it('is made for a turn of its writer alone, before it begins and after, and not for that of another agent', async (t) => {
    const parley = await testParley(t);
    const [merlin, kay] = [
      await groundAgent(parley, 'merlin', { capabilities: ['scribe'] }),
      await groundAgent(parley, 'kay', { capabilities: ['scribe'] }),
    ];
    const worker = new Worker(merlin);
    const own = await enqueued(parley.admin, 'merlin');
    const ofGroup = await enqueued(parley.admin, 'scribe');
    const wanted = (box_id: string, agent_turn_id: string) => ({ kind: 'output', box_id, agent_turn_id });
    for (const turn of [own, ofGroup, 'none']) {
      const refused = await kay.call('POST', '/v1/boxes', wanted('foreign', turn));
      assertRefused(refused, 404, 'turn_not_found');
    }
    const forAnother = { ...wanted('foreign', own), agent_id: 'kay' };
    assertRefused(await parley.admin.call('POST', '/v1/boxes', forAnother), 404, 'turn_not_found');
    assertRefused(await parley.admin.call('GET', '/v1/boxes/foreign'), 404, 'box_not_found');
    await outputBox(merlin, wanted('early', own));
    await worker.deliver(await worker.begin());
    await outputBox(merlin, wanted('late', own));
    assertRefused(await merlin.call('POST', '/v1/boxes', wanted('foreign', ofGroup)), 404, 'turn_not_found');
    const held = await worker.begin();
    assert.equal(held.agent_turn_id, ofGroup);
    await outputBox(merlin, wanted('at-once', ofGroup));
    assertRefused(await kay.call('POST', '/v1/boxes', wanted('foreign', ofGroup)), 404, 'turn_not_found');
  });
});

describe('boxes', () => {
  it('hold only cards that are there', async (t) => {
    const { agent } = await testParley(t);
    const tim = await agent('tim');
    const [a] = await cardsOf(tim, 'a');
    const unknown = `card_${'x'.repeat(43)}`;
    const id = await outputBox(tim);
    for (const act of [
      () => tim.call('POST', '/v1/boxes', { kind: 'context', cards: [a, unknown] }),
      () => tim.call('POST', '/v1/boxes', { kind: 'output', cards: [unknown] }),
      () => tim.call('POST', `/v1/boxes/${id}/append`, { cards: [a, unknown] }),
    ]) {
      const reply = await act();
      assertRefused(reply, 422, 'unknown_card');
      assert.deepEqual(reply.body.unknown, [unknown]);
    }
    assert.deepEqual((await tim.call('GET', `/v1/boxes/${id}`)).body.cards, []);
  });

  it('keep their cards for at least half the time of a card from when they took them', async (t) => {
    const DAY_MS = 86_400_000;
    const { agent, clock } = await testParley(t);
    const tim = await agent('tim');
    const [a] = await cardsOf(tim, 'a');
    clock.advance(29 * DAY_MS);
    const id = await outputBox(tim, { cards: [a] });
    clock.advance(15 * DAY_MS - 1000);
    assert.equal((await tim.call('GET', `/v1/boxes/${id}/cards`)).body.cards.length, 1);
    clock.advance(16 * DAY_MS);
    assertRefused(await tim.call('GET', `/v1/boxes/${id}`), 404, 'box_not_found');
  });

  it('are read with their contents page by page, each as large as an answer may be', async (t) => {
    const { agent } = await testParley(t);
    const tim = await agent('tim');
    const cards = await Promise.all(Array.from({ length: 5 }, (_, n) => cardOf(tim, `${n}${'x'.repeat(1_400_000)}`)));
    const id = await outputBox(tim, { cards });
    const read: string[] = [];
    for (let from: number | undefined = 0, pages = 0; from !== undefined; pages++) {
      assert.ok(pages < 5);
      const { status, body } = await tim.call('GET', `/v1/boxes/${id}/cards?from=${from}`);
      assert.equal(status, 200);
      assert.ok(JSON.stringify(body).length < 4_000_000);
      read.push(...body.cards.map(({ content }: { content: string }) => content.charAt(0)));
      from = body.next;
    }
    assert.deepEqual(read, ['0', '1', '2', '3', '4']);
    assert.deepEqual((await tim.call('GET', `/v1/boxes/${id}/cards?from=4&limit=1`)).body.next, undefined);
    assert.equal((await tim.call('GET', `/v1/boxes/${id}/cards?from=1&limit=1`)).body.next, 2);
  });

  it('are refused with what is wrong with them', async (t) => {
    const { agent } = await testParley(t);
    const tim = await agent('tim');
    const id = await outputBox(tim);
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
      assertRefused(await tim.call('POST', '/v1/boxes', wanted), 400, 'invalid_request');
    }
    for (const body of [{}, { cards: [] }, { cards: [7] }, { cards: Array(101).fill(`card_${'x'.repeat(43)}`) }]) {
      assertRefused(await tim.call('POST', `/v1/boxes/${id}/append`, body), 400, 'invalid_request');
    }
    for (const path of ['none', 'none/cards', 'a%23b']) {
      assertRefused(await tim.call('GET', `/v1/boxes/${path}`), 404, 'box_not_found');
    }
    const { body } = await tim.call('POST', '/v1/cards', { type: 'agent.thought', content: 1 });
    assertRefused(await tim.call('POST', '/v1/boxes/none/append', { cards: [body.card_id] }), 404, 'box_not_found');
  });
});
