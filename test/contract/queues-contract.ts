import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Json } from '../../shared/kernel/json/json.ts';
import type { QueueKey, QueueMessage, Queues, ReceivedMessage } from '../../shared/ports/queues.ts';
import { eventually } from '../support/eventually.ts';
import { type Open, token, unique } from './engine-under-test.ts';

const lane = (overrides: Partial<QueueKey> = {}): QueueKey => ({
  project: 'p',
  kind: 'domain',
  name: unique('security'),
  priority: 'normal',
  ...overrides,
});

const message = (to: QueueKey, body: string, overrides: Partial<QueueMessage> = {}): QueueMessage => ({
  queueKey: to,
  group: unique('group'),
  dedupId: token(),
  at: Date.now(),
  body,
  ...overrides,
});

const AT_ONCE = { max: 10, waitMs: 0, visibilityMs: 30_000 };
const bodies = (received: ReceivedMessage[]) => received.map(({ body }) => body);

/** A receive may come back empty by mistake, but not for ever. */
const receiveSome = (
  queues: Queues,
  lanes: QueueKey[],
  options: Partial<typeof AT_ONCE> = {},
): Promise<ReceivedMessage[]> =>
  eventually(async () => {
    const received = await queues.receive(lanes, { ...AT_ONCE, ...options });
    assert.notEqual(received.length, 0, 'nothing was received');
    return received;
  });

/** Receives one after the other, deleting each, until so many have come. */
const drain = async (queues: Queues, lanes: QueueKey[], count: number): Promise<ReceivedMessage[]> => {
  const drained: ReceivedMessage[] = [];
  while (drained.length < count) {
    const received = await receiveSome(queues, lanes);
    drained.push(...received);
    await queues.delete(received);
  }
  return drained;
};

export const queuesContract = (name: string, open: Open): void => {
  describe(`queues of ${name}`, () => {
    it('delivers every message with its lane, its group and its body', async (t) => {
      const { queues } = (await open(t)).ports;
      const to = lane();
      const body = { taskId: 'naïve 🗡', queueGeneration: 1, deep: [null, { a: true }] };
      await queues.send([message(to, '', { group: 'g', body })]);
      const [{ at: _at, receipt: _receipt, ...received } = assert.fail()] = await receiveSome(queues, [to]);
      assert.deepEqual(received, { queueKey: to, group: 'g', body });
    });

    it('gives whoever receives from a domain what waits for its capabilities, and whoever has one that alone', async (t) => {
      const { queues } = (await open(t)).ports;
      const domain = unique('security');
      const whole = lane({ name: domain });
      const [scan, briefing] = [
        lane({ kind: 'capability', name: `${domain}.scan` }),
        lane({ kind: 'capability', name: `${domain}.a.b` }),
      ];
      await queues.send([message(scan, 'scan'), message(briefing, 'briefing'), message(whole, 'other')]);
      const [received, ...more] = await receiveSome(queues, [scan]);
      assert.deepEqual([received?.body, received?.queueKey, more], ['scan', scan, []]);
      await queues.release(received ? [received] : []);
      const all = await drain(queues, [whole], 3);
      assert.deepEqual(bodies(all).toSorted(), ['briefing', 'other', 'scan']);
      assert.deepEqual(new Set(all.map(({ queueKey: { name } }) => name)), new Set([scan.name, briefing.name, domain]));
      assert.deepEqual(await queues.receive([whole, scan, briefing], AT_ONCE), []);
    });

    it('counts by priority what could be received, up to a bound, without what is skipped in a list', async (t) => {
      const { queues } = (await open(t)).ports;
      const domain = unique('security');
      const [critical, normal] = [lane({ name: domain, priority: 'critical' }), lane({ name: domain })];
      const kay = lane({ kind: 'agent', name: unique('kay'), priority: 'critical' });
      const scan = lane({ kind: 'capability', name: `${domain}.scan` });
      const all = [critical, kay, normal];
      assert.deepEqual(await queues.count(all, { max: 10 }), {});
      await queues.send([message(critical, '1'), message(kay, '2'), message(kay, 'left'), message(scan, '3')]);
      for (let sent = 0; sent < 12; sent++) await queues.send([message(normal, 'many')]);
      const options = { max: 10, skip: (body: Json) => body === 'left' };
      await eventually(async () => assert.deepEqual(await queues.count(all, options), { critical: 2, normal: 10 }));
      const [received] = await queues.receive([kay], { ...AT_ONCE, ...options });
      assert.equal(received?.body, '2');
      await eventually(async () => assert.deepEqual(await queues.count([kay], options), {}));
      await eventually(async () => assert.deepEqual(await queues.count([scan], options), { normal: 1 }));
    });

    it('wakes whoever waits in a domain for what is sent to one of its capabilities', async (t) => {
      const { queues } = (await open(t)).ports;
      const domain = unique('security');
      const scan = lane({ kind: 'capability', name: `${domain}.scan` });
      const waiting = queues.receive([lane({ name: domain })], { ...AT_ONCE, waitMs: 20_000 });
      await queues.send([message(scan, 'scan')]);
      assert.deepEqual(bodies(await waiting), ['scan']);
    });

    it('leaves to others what waits for a capability and is not for the receiver', async (t) => {
      const { queues } = (await open(t)).ports;
      const scan = lane({ kind: 'capability', name: `${unique('security')}.scan` });
      await queues.send([message(scan, 'left'), message(scan, 'wanted')]);
      const received = await eventually(async () => {
        const some = await queues.receive([scan], { ...AT_ONCE, skip: (body) => body === 'left' });
        assert.notEqual(some.length, 0);
        return some;
      });
      assert.deepEqual(bodies(received), ['wanted']);
      assert.deepEqual(bodies(await receiveSome(queues, [scan])), ['left']);
    });

    it('takes what is urgent from a queue before what is less so from a list, and nothing that is too much', async (t) => {
      const { queues } = (await open(t)).ports;
      const domain = unique('security');
      const [kay, whole] = [lane({ kind: 'agent', name: unique('kay') }), lane({ name: domain })];
      const high = { ...whole, priority: 'high' as const };
      await queues.send([message(kay, 'addressed'), message(whole, 'normal'), message(high, 'high')]);
      const lanes = [{ ...kay, priority: 'high' as const }, high, kay, whole];
      const order: unknown[] = [];
      for (let times = 0; times < 3; times++) {
        const received = await receiveSome(queues, lanes, { max: 1 });
        order.push(...bodies(received));
        await queues.delete(received);
      }
      assert.deepEqual(order, ['high', 'addressed', 'normal']);
    });

    it('takes messages that are large together', async (t) => {
      const { queues } = (await open(t)).ports;
      const to = lane();
      const texts = Array.from({ length: 6 }, (_, n) => String(n).repeat(250_000));
      await queues.send(texts.map((text) => message(to, text)));
      assert.deepEqual(bodies(await drain(queues, [to], texts.length)).toSorted(), texts);
    });

    it('delivers what is on its way to NATS in the order of each group, however much is sent at once', async (t) => {
      const { queues } = (await open(t)).ports;
      const to = lane({ project: unique('p'), kind: 'relay', name: 'egress' });
      const sent = Array.from({ length: 12 }, (_, n) =>
        ['a', 'b'].map((group) => message(to, `${group}${n}`, { group })),
      );
      await queues.send(sent.flat());
      const drained = bodies(await drain(queues, [to], 24));
      for (const group of ['a', 'b']) {
        const own = drained.filter((body) => String(body).startsWith(group));
        assert.deepEqual(
          own,
          Array.from({ length: 12 }, (_, n) => `${group}${n}`),
        );
      }
    });

    it('delivers the messages of a group in their order, one at a time', async (t) => {
      const { queues } = (await open(t)).ports;
      const to = lane();
      await queues.send([1, 2, 3].map((n) => message(to, `a${n}`, { group: 'a' })));
      await queues.send([message(to, 'b1', { group: 'b' })]);
      const first = await receiveSome(queues, [to]);
      assert.deepEqual(bodies(first), ['a1', 'b1']);
      assert.deepEqual(await queues.receive([to], AT_ONCE), []);
      await queues.delete(first);
      assert.deepEqual(bodies(await drain(queues, [to], 2)), ['a2', 'a3']);
      assert.deepEqual(await queues.receive([to], AT_ONCE), []);
    });

    it('gives a message to one of many who receive at once', async (t) => {
      const { queues } = (await open(t)).ports;
      const to = lane();
      const sent = Array.from({ length: 40 }, (_, n) => `m${n}`);
      await queues.send(sent.map((body) => message(to, body)));
      const all = await Promise.all(sent.map(() => queues.receive([to], { ...AT_ONCE, max: 3 })));
      const received = bodies(all.flat());
      assert.equal(new Set(received).size, received.length);
      assert.ok(all.every((some) => some.length <= 3));
    });

    it('does not queue a message again whose id was just sent, also after its deletion', async (t) => {
      const { queues } = (await open(t)).ports;
      const to = lane();
      const once = message(to, 'once');
      await queues.send([once]);
      await queues.send([once, message(to, 'another')]);
      assert.deepEqual(bodies(await drain(queues, [to], 2)), ['once', 'another']);
      await queues.send([once]);
      assert.deepEqual(await queues.receive([to], AT_ONCE), []);
    });

    it('does not take the id of a message in one project for that of one in another', async (t) => {
      const { queues } = (await open(t)).ports;
      const [here, there] = [lane({ project: 'p' }), lane({ project: 'q' })];
      const once = message(here, 'here');
      await queues.send([once]);
      await queues.send([{ ...once, queueKey: there, body: 'there' }]);
      assert.deepEqual(bodies(await queues.receive([here], AT_ONCE)), ['here']);
      assert.deepEqual(bodies(await queues.receive([there], AT_ONCE)), ['there']);
    });

    it('keeps lanes apart by project, kind, name and priority', async (t) => {
      const { queues } = (await open(t)).ports;
      for (const kind of ['domain', 'agent', 'capability'] as const) {
        const one = lane({ kind });
        const others: QueueKey[] = [
          { ...one, project: 'q' },
          { ...one, kind: kind === 'agent' ? 'capability' : 'agent' },
          { ...one, name: `${one.name}2` },
          { ...one, priority: 'high' },
        ];
        await queues.send([message(one, 'mine')]);
        // A lane that nothing was ever sent to is not even asked.
        await queues.send(others.map((other) => message(other, 'theirs')));
        for (const other of others) assert.deepEqual(bodies(await receiveSome(queues, [other])), ['theirs']);
        assert.deepEqual(bodies(await receiveSome(queues, [one])), ['mine']);
      }
    });

    it('delivers a message again whose time of invisibility is over, and not before', async (t) => {
      const { ports, pass } = await open(t);
      const { queues } = ports;
      const to = lane();
      await queues.send([message(to, 'a1', { group: 'a' }), message(to, 'a2', { group: 'a' })]);
      assert.deepEqual(bodies(await receiveSome(queues, [to], { visibilityMs: 2000 })), ['a1']);
      assert.deepEqual(await queues.receive([to], AT_ONCE), []);
      await pass(2000);
      assert.deepEqual(bodies(await drain(queues, [to], 2)), ['a1', 'a2']);
      await pass(30_000);
      assert.deepEqual(await queues.receive([to], AT_ONCE), []);
    });

    it('gives a waiting receive what becomes visible while it waits', async (t) => {
      const { ports, pass } = await open(t);
      const { queues } = ports;
      const to = lane();
      await queues.send([message(to, 'again')]);
      const first = await receiveSome(queues, [to], { visibilityMs: 2000 });
      const second = queues.receive([to], { ...AT_ONCE, waitMs: 10_000 });
      await pass(1000);
      await pass(1000);
      assert.deepEqual(bodies(await second), bodies(first));
    });

    it('makes released messages visible at once, in their old order', async (t) => {
      const { queues } = (await open(t)).ports;
      const to = lane();
      await queues.send(['a1', 'a2'].map((body) => message(to, body, { group: 'a' })));
      await queues.send([message(to, 'b1', { group: 'b' })]);
      const first = await receiveSome(queues, [to]);
      await queues.release(first.toReversed());
      const again = await receiveSome(queues, [to]);
      assert.deepEqual(bodies(again), bodies(first));
      const waiting = queues.receive([to], { ...AT_ONCE, max: 1, waitMs: 20_000 });
      await queues.release(again.slice(0, 1));
      assert.deepEqual(bodies(await waiting), ['a1']);
    });

    it('empties earlier lanes first, and takes no more than was asked for', async (t) => {
      const { queues } = (await open(t)).ports;
      const [first, second] = [lane({ priority: 'high' }), lane()];
      await queues.send([message(second, 's1'), message(second, 's2'), message(first, 'f1'), message(first, 'f2')]);
      assert.deepEqual(bodies(await receiveSome(queues, [first, second], { max: 3 })), ['f1', 'f2', 's1']);
      assert.deepEqual(bodies(await receiveSome(queues, [first, second], { max: 3 })), ['s2']);
    });

    it('finds what waits behind a group that is being worked on', async (t) => {
      const { queues } = (await open(t)).ports;
      const to = lane();
      await queues.send(Array.from({ length: 30 }, (_, n) => message(to, `a${n}`, { group: 'a' })));
      await queues.send([message(to, 'b', { group: 'b' })]);
      assert.deepEqual(bodies(await receiveSome(queues, [to], { max: 1 })), ['a0']);
      assert.deepEqual(bodies(await receiveSome(queues, [to], { max: 1 })), ['b']);
    });

    for (const kind of ['domain', 'capability'] as const) {
      const leaves = (body: Json): boolean => String(body).startsWith('left');
      const leaving = { ...AT_ONCE, max: 1, skip: leaves };

      it(`gives a receiver what stands behind what it leaves, and that to others (${kind})`, async (t) => {
        const { queues } = (await open(t)).ports;
        const to = lane({ kind });
        await queues.send(Array.from({ length: 15 }, (_, n) => message(to, `left${n}`)));
        await queues.send([message(to, 'wanted')]);
        const received = await eventually(async () => {
          const some = await queues.receive([to], leaving);
          assert.notEqual(some.length, 0, 'nothing was received');
          return some;
        });
        assert.deepEqual(bodies(received), ['wanted']);
        await queues.delete(received);
        assert.deepEqual(await queues.receive([to], leaving), []);
        assert.equal((await drain(queues, [to], 15)).length, 15);
      });

      it(`gives at once to one who waits what another leaves, who waits on (${kind})`, async (t) => {
        const { ports, now } = await open(t);
        const to = lane({ kind });
        const begun = now();
        const waiting = { ...AT_ONCE, waitMs: 20_000 };
        const picky = ports.queues.receive([to], { ...waiting, skip: leaves });
        const other = ports.queues.receive([to], waiting);
        await ports.queues.send([message(to, 'left')]);
        assert.deepEqual(bodies(await other), ['left']);
        await ports.queues.send([message(to, 'wanted')]);
        assert.deepEqual(bodies(await picky), ['wanted']);
        assert.ok(now() < begun + 20_000);
      });
    }

    it('wakes a waiting receive when something arrives in any of its lanes', async (t) => {
      const { ports, now } = await open(t);
      const [quiet, busy] = [lane(), lane()];
      const begun = now();
      const waiting = ports.queues.receive([quiet, busy], { ...AT_ONCE, waitMs: 20_000 });
      await ports.queues.send([message(busy, 'news')]);
      assert.deepEqual(bodies(await waiting), ['news']);
      assert.ok(now() < begun + 20_000);
    });

    it('wakes as many as there are messages, and leaves none waiting beside one', async (t) => {
      const { queues } = (await open(t)).ports;
      const to = lane();
      const waiting = Array.from({ length: 5 }, () => queues.receive([to], { ...AT_ONCE, max: 1, waitMs: 20_000 }));
      const sent = waiting.map((_, n) => `m${n}`);
      await queues.send(sent.map((body) => message(to, body)));
      assert.deepEqual(bodies((await Promise.all(waiting)).flat()).toSorted(), sent);
    });

    it('ends a wait with nothing when its time is over or when it is aborted', async (t) => {
      const { ports, pass } = await open(t);
      const to = lane();
      const waiting = ports.queues.receive([to], { ...AT_ONCE, waitMs: 1000 });
      await pass(1000);
      assert.deepEqual(await waiting, []);
      const stop = new AbortController();
      const stopped = ports.queues.receive([to], { ...AT_ONCE, waitMs: 20_000, signal: stop.signal });
      stop.abort();
      assert.deepEqual(await stopped, []);
    });

    it('gives to another what arrives as a wait is aborted', async (t) => {
      const { queues } = (await open(t)).ports;
      const to = lane();
      const stop = new AbortController();
      const gone = queues.receive([to], { ...AT_ONCE, waitMs: 20_000, signal: stop.signal });
      const stays = queues.receive([to], { ...AT_ONCE, waitMs: 20_000 });
      stop.abort();
      await queues.send([message(to, 'news')]);
      assert.deepEqual([bodies(await gone), bodies(await stays)], [[], ['news']]);
    });

    for (const kind of ['agent', 'capability', 'domain'] as const) {
      it(`shows how much a queue holds and its oldest messages, and takes nothing (${kind})`, async (t) => {
        const { queues } = (await open(t)).ports;
        const [to, other] = [lane({ kind }), lane({ kind })];
        const high: QueueKey = { ...to, priority: 'high' };
        const at = Date.now();
        for (const [n, body] of ['m1', 'm2', 'm3'].entries()) await queues.send([message(to, body, { at: at + n })]);
        await queues.send([message(high, 'urgent')]);
        const [normal, urgent, none] = await eventually(async () => {
          const inspected = await queues.inspect([to, high, other], 10);
          assert.deepEqual(
            inspected.map(({ messages }) => messages),
            [3, 1, 0],
          );
          return inspected;
        });
        if (normal?.isExact) {
          assert.deepEqual(
            [normal, urgent, none].map((one) => one?.oldest?.map(({ body }) => body)),
            [['m1', 'm2', 'm3'], ['urgent'], []],
          );
          assert.equal((await queues.inspect([to], 2))[0]?.oldest?.[0]?.body, 'm1');
        }
        assert.deepEqual(bodies(await drain(queues, [to], 3)), ['m1', 'm2', 'm3']);
        await eventually(async () => assert.equal((await queues.inspect([to], 10))[0]?.messages, 0));
      });
    }

    it('keeps what was not deleted, also across a crash', async (t) => {
      const engine = await open(t);
      const to = lane();
      const before = engine.ports.queues;
      await before.send(['m1', 'm2', 'm3'].map((body) => message(to, body)));
      await before.delete(await receiveSome(before, [to], { max: 1 }));
      await receiveSome(before, [to], { max: 1, visibilityMs: 2000 });
      await engine.crash();
      await engine.pass(2000);
      assert.deepEqual(bodies(await drain(engine.ports.queues, [to], 2)).toSorted(), ['m2', 'm3']);
    });
  });
};
