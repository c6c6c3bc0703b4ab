import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import fc from 'fast-check';
import { formatQueueName, parseQueueName } from '../../shared/engines/embedded/queue-name.ts';
import type { Fairness, QueueKey, QueueMessage, Queues, ReceivedMessage } from '../../shared/ports/queues.ts';
import { engineIn } from '../support/engine-in.ts';

const MANY = 20_000;
const DOMAIN: QueueKey = { project: 'p', kind: 'domain', name: 'home', priority: 'normal' };
const SOUP: QueueKey = { ...DOMAIN, kind: 'capability', name: 'home.soup' };
const BREAD: QueueKey = { ...DOMAIN, kind: 'capability', name: 'home.bread' };

let count = 0;
const message = (requester: string, more: Partial<QueueMessage> = {}): QueueMessage => {
  count += 1;
  const id = `${requester}-${count}`;
  return { queueKey: DOMAIN, group: id, dedupId: id, at: 0, body: id, share: { requester }, ...more };
};

const openIn = (t: TestContext, fairness?: Fairness) => {
  const dir = mkdtempSync(join(tmpdir(), 'parley-fair-'));
  let engine = engineIn(dir, fairness && { fairness });
  t.after(async () => {
    await engine.stop();
    rmSync(dir, { recursive: true });
  });
  return {
    get queues(): Queues {
      return engine.ports.queues;
    },
    restart: async () => {
      await engine.stop();
      engine = engineIn(dir, fairness && { fairness });
    },
  };
};

const receive = (queues: Queues, queueKey = DOMAIN, max = 1): Promise<ReceivedMessage[]> =>
  queues.receive([queueKey], { max, waitMs: 0, visibilityMs: 60_000 });

const take = async (queues: Queues, queueKey = DOMAIN): Promise<string> => {
  const received = await receive(queues, queueKey);
  await queues.delete(received);
  return String(received[0]?.body).replace(/-\d+$/, '');
};

describe('a queue on one machine that requesters share', () => {
  it('gives the one message of another next but one, with 20,000 of one, also after a restart', async (t) => {
    const storage = openIn(t);
    await storage.queues.send(Array.from({ length: MANY }, () => message('noisy')));
    await storage.queues.send([message('quiet'), message('other')]);
    await storage.restart();
    const { queues } = storage;
    const first = [await take(queues), await take(queues), await take(queues)];
    assert.deepEqual(first.toSorted(), ['noisy', 'other', 'quiet']);
    assert.equal(await take(queues), 'noisy');
    await queues.send([message('quiet')]);
    const next = [await take(queues), await take(queues)];
    assert.ok(next.includes('quiet'), String(next));
    const [inspected] = await queues.inspect([DOMAIN], 1000);
    assert.equal(inspected?.messages, MANY + 3 - 6);
    assert.equal(inspected?.oldest?.length, 25);
  });

  it('gives one requester one turn in a domain and all of its capabilities', async (t) => {
    const { queues } = openIn(t);
    for (const queueKey of [SOUP, BREAD, DOMAIN])
      await queues.send(Array.from({ length: 50 }, () => message('noisy', { queueKey })));
    await queues.send([message('quiet', { queueKey: BREAD }), message('other', { queueKey: SOUP })]);
    const seen = [await take(queues), await take(queues), await take(queues), await take(queues)];
    assert.deepEqual(seen.toSorted(), ['noisy', 'noisy', 'other', 'quiet']);
    await queues.send([message('quiet', { queueKey: SOUP })]);
    const soups = [await take(queues, SOUP), await take(queues, SOUP)];
    assert.deepEqual(soups.toSorted(), ['noisy', 'quiet']);
  });

  it('keeps the order of each requester, loses nothing and gives nothing twice, whatever is released', async (t) => {
    const requesters = ['a', 'b', 'c.d', 'é/~x', ''];
    const keys = [DOMAIN, SOUP, BREAD];
    const move = fc.record({
      do: fc.constantFrom('send', 'send', 'take', 'take', 'release', 'restart'),
      who: fc.nat(requesters.length - 1),
      where: fc.nat(keys.length - 1),
      many: fc.integer({ min: 1, max: 30 }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(move, { minLength: 10, maxLength: 40 }), async (moves) => {
        const storage = openIn(t);
        const waiting = new Map<string, string[]>();
        const taken: string[] = [];
        const check = (received: ReceivedMessage[]): void => {
          for (const { body } of received) {
            const id = String(body);
            const own = waiting.get(id.replace(/-\d+$/, '')) ?? [];
            assert.equal(own[0], id, 'the oldest of its requester');
            own.shift();
            taken.push(id);
          }
        };
        for (const { do: what, who, where, many } of moves) {
          const [requester = '', queueKey = DOMAIN] = [requesters[who], keys[where]];
          if (what === 'send') {
            const sent = Array.from({ length: many }, () => message(requester, { queueKey }));
            for (const { body } of sent) waiting.set(requester, [...(waiting.get(requester) ?? []), String(body)]);
            await storage.queues.send(sent);
          }
          if (what === 'take') {
            const received = await receive(storage.queues, DOMAIN, many);
            check(received);
            await storage.queues.delete(received);
          }
          if (what === 'release') await storage.queues.release(await receive(storage.queues, DOMAIN, many));
          if (what === 'restart') await storage.restart();
        }
        for (;;) {
          const received = await receive(storage.queues, DOMAIN, 10);
          if (received.length === 0) break;
          check(received);
          await storage.queues.delete(received);
        }
        assert.ok([...waiting.values()].every((left) => left.length === 0));
        assert.equal(new Set(taken).size, taken.length);
      }),
      { numRuns: process.env.PARLEY_TESTS === 'long' ? 100 : 6, endOnFailure: true },
    );
  });

  it('has turns of conversations, or none, by choice', async (t) => {
    const talks = openIn(t, 'conversation').queues;
    await talks.send(
      Array.from({ length: 9 }, () => message('noisy', { share: { requester: 'a', conversation: 'one' } })),
    );
    await talks.send([message('quiet', { share: { requester: 'a', conversation: 'two' } })]);
    assert.deepEqual([await take(talks), await take(talks)].toSorted(), ['noisy', 'quiet']);
    const plain = openIn(t, 'none').queues;
    await plain.send([message('noisy'), message('noisy'), message('noisy'), message('quiet')]);
    assert.deepEqual([await take(plain), await take(plain), await take(plain)], ['noisy', 'noisy', 'noisy']);
  });

  it('reads what a version without turns has stored, under a name that such a version can read', () => {
    assert.deepEqual(parseQueueName('p/domain/home/normal'), { queueKey: DOMAIN, lane: '' });
    for (const name of ['home', 'a/b', 'x/~y', '~']) {
      const queueKey: QueueKey = { ...SOUP, name };
      for (const lane of ['', 'tim', 'a.b'])
        assert.deepEqual(parseQueueName(formatQueueName(queueKey, lane)), { queueKey, lane }, `${name} ${lane}`);
    }
    assert.match(formatQueueName(DOMAIN, 'tim'), /^[^/]*\/(domain|agent|capability|relay)\/.*\/normal$/);
  });
});
