import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { cardOf } from '../support/cards.ts';
import { deployment } from './deployment.ts';

const { agent } = await deployment();

describe('cards', () => {
  it('come back as they were put in, small ones and large ones, and are the same when made again', async () => {
    const [tim, kay] = [await agent('tim'), await agent('kay')];
    for (const length of [10, 8000, 20_000, 1_000_000]) {
      const content = { run: randomUUID(), text: 'ü€😀'.repeat(length / 10) };
      const made = await tim.call('POST', '/v1/cards', { type: 'tool.result', content });
      assert.equal(made.status, 201, JSON.stringify(made.body));
      const again = await kay.call('POST', '/v1/cards', { type: 'tool.result', content });
      assert.deepEqual([again.status, again.body], [201, made.body]);
      const read = await kay.call('GET', `/v1/cards/${made.body.card_id}`);
      assert.deepEqual([read.status, read.body.content, read.body.created_by], [200, content, tim.id]);
    }
  });

  it('are made once by many at the same time', async () => {
    const tim = await agent('tim');
    const card = { type: 'agent.thought', content: { run: randomUUID(), text: 'x'.repeat(20_000) } };
    const made = await Promise.all(Array.from({ length: 6 }, () => tim.call('POST', '/v1/cards', card)));
    assert.deepEqual(
      made.map(({ status }) => status),
      [201, 201, 201, 201, 201, 201],
    );
    assert.deepEqual((await tim.call('GET', `/v1/cards/${made[0]?.body.card_id}`)).body.content, card.content);
  });
});

describe('boxes', () => {
  it('give back cards that are too large for a record, page by page, and in their order', async () => {
    const tim = await agent('tim');
    const run = randomUUID();
    const contents = Array.from({ length: 5 }, (_, n) => ({ run, n, text: String(n).repeat(n % 2 ? 400_000 : 10) }));
    const cards = await Promise.all(contents.map((content) => cardOf(tim, content)));
    const made = await tim.call('POST', '/v1/boxes', { kind: 'context', cards });
    assert.equal(made.status, 201, JSON.stringify(made.body));
    const read: unknown[] = [];
    for (let from = 0; from < cards.length; from += 2) {
      const { body } = await tim.call('GET', `/v1/boxes/${made.body.box_id}/cards?from=${from}&limit=2`);
      read.push(...body.cards.map(({ content }: { content: unknown }) => content));
    }
    assert.deepEqual(read, contents);
  });

  it('keep their order, take each card once, and have one writer', async () => {
    const [tim, kay] = [await agent('tim'), await agent('kay')];
    const run = randomUUID();
    const cards = await Promise.all(['a', 'b', 'c'].map((text) => cardOf(tim, { run, text })));
    const context = await tim.call('POST', '/v1/boxes', { kind: 'context', cards: [...cards, ...cards] });
    assert.equal(context.status, 201);
    assert.deepEqual((await kay.call('GET', `/v1/boxes/${context.body.box_id}`)).body.cards, [...cards, ...cards]);
    const output = await tim.call('POST', '/v1/boxes', { kind: 'output', box_id: `out-${run}` });
    assert.equal(output.status, 201);
    const path = `/v1/boxes/${output.body.box_id}`;
    for (const list of [cards.slice(1), cards.slice(0, 2), cards]) {
      assert.equal((await tim.call('POST', `${path}/append`, { cards: list })).status, 200);
    }
    assert.equal((await kay.call('POST', `${path}/append`, { cards })).status, 403);
    assert.equal((await tim.call('POST', `/v1/boxes/${context.body.box_id}/append`, { cards })).status, 409);
    const page = await kay.call('GET', `${path}/cards`);
    const texts = page.body.cards.map(({ content }: { content: { text: string } }) => content.text);
    assert.deepEqual(texts, ['b', 'c', 'a']);
  });
});
