import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, it } from 'node:test';
import type { EventType } from '../../shared/ports/event-types.ts';
import { matchesSubject, type ParleyEvent } from '../../shared/ports/events.ts';
import { seeded } from '../support/hostile-ports.ts';
import { type Open, unique } from './engine-under-test.ts';

const event = (project: string, number: number, type: EventType = 'task.requested'): ParleyEvent => ({
  id: `${number}`,
  project,
  type,
  at: 1000 + number,
  data: { number, text: 'naïve 🗡', deep: [null, { a: true }] },
});

const numbered = (project: string, count: number): ParleyEvent[] =>
  Array.from({ length: count }, (_, number) =>
    event(project, number, number % 3 === 0 ? 'task.completed' : 'task.claimed'),
  );

const ids = (events: ParleyEvent[]) => events.map(({ id }) => id);

export const eventsContract = (name: string, open: Open): void => {
  describe(`events of ${name}`, () => {
    it('are read whole and in the order of their publication, from the oldest on', async (t) => {
      const { events } = (await open(t)).ports;
      const project = unique('p');
      const published = numbered(project, 12);
      await events.publish(published.slice(0, 7));
      await events.publish(published.slice(7));
      assert.deepEqual((await events.read(project, { limit: 100 })).events, published);
    });

    it('are read on from behind a cursor without a gap and without a repetition', async (t) => {
      const { events } = (await open(t)).ports;
      const project = unique('p');
      const published = numbered(project, 11);
      await events.publish(published);
      const read: ParleyEvent[] = [];
      let cursor: string | undefined;
      for (let pages = 0; pages < 4; pages++) {
        const page = await events.read(project, { after: cursor, limit: 4 });
        assert.ok(page.events.length <= 4);
        read.push(...page.events);
        cursor = page.cursor;
      }
      assert.deepEqual(read, published);
      await events.publish([event(project, 99)]);
      assert.deepEqual(ids((await events.read(project, { after: cursor, limit: 4 })).events), ['99']);
    });

    it('are kept, all of them, however large they are together', async (t) => {
      const { events } = (await open(t)).ports;
      const project = unique('p');
      const large = numbered(project, 12).map((one) => ({
        ...one,
        data: { text: randomBytes(45_000).toString('base64') },
      }));
      await Promise.all([
        events.publish(large.slice(0, 1)),
        events.publish(large.slice(1, 6)),
        events.publish(large.slice(6)),
      ]);
      assert.deepEqual((await events.read(project, { limit: 100 })).events, large);
    });

    it('are chosen by type, and the cursor moves past those that are not', async (t) => {
      const { events } = (await open(t)).ports;
      const project = unique('p');
      await events.publish(numbered(project, 10));
      const thirds = await events.read(project, { types: ['task.completed'], limit: 3 });
      assert.deepEqual(ids(thirds.events), ['0', '3', '6']);
      const rest = await events.read(project, { types: ['task.completed', 'none'], after: thirds.cursor, limit: 3 });
      assert.deepEqual(ids(rest.events), ['9']);
      const none = await events.read(project, { types: ['none'], limit: 3 });
      assert.deepEqual(none.events, []);
      assert.equal(none.cursor, await events.getEnd(project));
      assert.deepEqual((await events.read(project, { types: [], limit: 3 })).events, []);
    });

    it('are chosen by what they hold, in either direction, and the cursor moves past the others', async (t) => {
      const { events } = (await open(t)).ports;
      const project = unique('p');
      await events.publish(numbered(project, 6));
      await events.publish(numbered(project, 12).slice(6));
      const where = ({ data }: ParleyEvent) => Number(data.number) % 4 === 1;
      const first = await events.read(project, { where, limit: 2 });
      assert.deepEqual(ids(first.events), ['1', '5']);
      const rest = await events.read(project, { where, after: first.cursor, limit: 2 });
      assert.deepEqual([ids(rest.events), rest.cursor], [['9'], await events.getEnd(project)]);
      const back = await events.read(project, { where, types: ['task.claimed'], newestFirst: true, limit: 9 });
      assert.deepEqual(ids(back.events), ['5', '1']);
    });

    it('are chosen by their subject, in either direction, and whoever reads on misses none', async (t) => {
      const { events } = (await open(t)).ports;
      const [project, other] = [unique('p'), unique('p')];
      const random = seeded(17);
      const pickOne = (...names: string[]) => names[Math.floor(random() * names.length)] ?? '';
      const about = (number: number): ParleyEvent => ({
        ...event(project, number),
        data: {
          taskId: `t${Math.floor(number / 3)}`,
          from: pickOne('ann', 'bob'),
          agent: pickOne('bob', 'cid'),
          domain: pickOne('a', 'b'),
          ...(number % 50 === 7 && { conversationId: 'rare' }),
        },
      });
      const published = Array.from({ length: 120 }, (_, number) => about(number));
      for (let at = 0; at < published.length; at += 4) {
        await events.publish(published.slice(at, at + 4));
        await events.publish([{ ...event(other, at), data: { taskId: 't5', from: 'ann' } }]);
      }
      const subjects = [
        { task: 't5' },
        { task: 'none' },
        { agent: 'cid', domain: 'b' },
        { agent: 'bob' },
        { conversation: 'rare' },
        { conversation: 'rare', agent: 'ann' },
        { task: 't19', conversation: 'rare' },
      ];
      for (const subject of subjects) {
        const expected = published.filter((one) => matchesSubject(subject, one));
        for (const newestFirst of [false, true]) {
          const found: ParleyEvent[] = [];
          for (let after: string | undefined; ; ) {
            const page = await events.read(project, { subject, after, newestFirst, limit: 3 });
            found.push(...page.events);
            if (page.cursor === after) break;
            after = page.cursor;
          }
          assert.deepEqual(ids(found), ids(newestFirst ? expected.toReversed() : expected), JSON.stringify(subject));
        }
      }
      const { cursor } = await events.read(project, { subject: { task: 't5' }, limit: 9 });
      await events.publish([{ ...about(1000), data: { taskId: 't5' } }]);
      assert.deepEqual(ids((await events.read(project, { subject: { task: 't5' }, after: cursor, limit: 9 })).events), [
        '1000',
      ]);
    });

    it('are chosen by the beginning of their type, where it ends with a star', async (t) => {
      const { events } = (await open(t)).ports;
      const project = unique('p');
      const types: EventType[] = ['task.released', 'task.requested', 'task.claimed', 'agent.resumed', 'task.retrying'];
      await events.publish(types.map((type, number) => event(project, number, type)));
      const read = async (...wanted: string[]) => ids((await events.read(project, { types: wanted, limit: 9 })).events);
      assert.deepEqual(await read('task.*'), ['0', '1', '2', '4']);
      assert.deepEqual(await read('task.re*', 'agent.resumed'), ['0', '1', '3', '4']);
      assert.deepEqual(await read('*'), ['0', '1', '2', '3', '4']);
    });

    it('are read up to a place and no further, in either direction, whatever comes behind it', async (t) => {
      const { events } = (await open(t)).ports;
      const project = unique('p');
      const published = numbered(project, 9);
      await events.publish(published.slice(0, 3));
      await events.publish(published.slice(3));
      const { cursor: two } = await events.read(project, { limit: 2 });
      const { cursor: three } = await events.read(project, { limit: 3 });
      const { cursor: five } = await events.read(project, { limit: 5 });
      const between = async (after: string, until: string, newestFirst = false) => {
        const page = await events.read(project, { after, until, newestFirst, limit: 9 });
        assert.equal(page.cursor, after === until ? after : until);
        return ids(page.events);
      };
      assert.deepEqual(await between(two, five), ['2', '3', '4']);
      assert.deepEqual(await between(two, three), ['2']);
      assert.deepEqual(await between(five, five), []);
      assert.deepEqual(await between(five, two, true), ['4', '3', '2']);
      assert.deepEqual(ids((await events.read(project, { until: two, limit: 9 })).events), ['0', '1']);
      assert.deepEqual((await events.read(project, { after: five, until: two, limit: 9 })).events, []);
    });

    it('are found by the time of their publication, with nothing missing that came then or later', async (t) => {
      const engine = await open(t);
      const { events } = engine.ports;
      const project = unique('p');
      assert.deepEqual(
        (await events.read(project, { after: await events.findPositionAt(project, 0), limit: 9 })).events,
        [],
      );
      const times: number[] = [];
      for (let number = 0; number < 9; number++) {
        await engine.pass(number === 0 ? 0 : 60_000);
        times.push(engine.now());
        await events.publish([event(project, number)]);
      }
      const from = async (time: number) =>
        ids((await events.read(project, { after: await events.findPositionAt(project, time), limit: 99 })).events);
      const all = times.map((_, number) => `${number}`);
      for (const [number, time] of times.entries()) assert.deepEqual(await from(time), all.slice(number));
      assert.deepEqual(await from(0), all);
      assert.deepEqual(await from(engine.now() + 60_000), []);
    });

    it('are read newest first, on from a cursor without a gap and without a repetition, until the log ends', async (t) => {
      const { events } = (await open(t)).ports;
      const project = unique('p');
      const published = numbered(project, 11);
      for (const [from, to] of [
        [0, 2],
        [2, 9],
        [9, 11],
      ]) {
        await events.publish(published.slice(from, to));
      }
      const read: ParleyEvent[] = [];
      let cursor: string | undefined;
      for (;;) {
        const page = await events.read(project, { after: cursor, newestFirst: true, limit: 4 });
        assert.ok(page.events.length <= 4);
        if (page.cursor === cursor) break;
        read.push(...page.events);
        cursor = page.cursor;
      }
      assert.deepEqual(read, published.toReversed());
    });

    it('are read newest first by type, from before a cursor, whatever was published since', async (t) => {
      const { events } = (await open(t)).ports;
      const project = unique('p');
      await events.publish(numbered(project, 10));
      const thirds = { types: ['task.completed'], newestFirst: true, limit: 3 };
      const first = await events.read(project, thirds);
      assert.deepEqual(ids(first.events), ['9', '6', '3']);
      await events.publish([event(project, 99, 'task.completed')]);
      assert.deepEqual(ids((await events.read(project, { ...thirds, after: first.cursor })).events), ['0']);
      const none = await events.read(project, { ...thirds, types: ['none'] });
      assert.deepEqual(none.events, []);
      const end = await events.read(project, { ...thirds, after: none.cursor });
      assert.deepEqual(end, { events: [], cursor: none.cursor });
      assert.deepEqual((await events.read(unique('p'), thirds)).events, []);
    });

    it('are read in either direction from one and the same place', async (t) => {
      const { events } = (await open(t)).ports;
      const project = unique('p');
      await events.publish(numbered(project, 6));
      const { cursor } = await events.read(project, { limit: 3 });
      const back = await events.read(project, { after: cursor, newestFirst: true, limit: 2 });
      assert.deepEqual(ids(back.events), ['2', '1']);
      assert.deepEqual(ids((await events.read(project, { after: back.cursor, limit: 9 })).events), [
        '1',
        '2',
        '3',
        '4',
        '5',
      ]);
      const end = await events.getEnd(project);
      assert.deepEqual(ids((await events.read(project, { after: end, newestFirst: true, limit: 1 })).events), ['5']);
    });

    it('are refused from a place ahead of the log, where a reader would miss what comes next', async (t) => {
      const { events } = (await open(t)).ports;
      const project = unique('p');
      const far = '999999999999999.0';
      await assert.rejects(events.read(project, { after: far, limit: 1 }), { code: 'invalid_request' });
      await events.publish([event(project, 0)]);
      await assert.rejects(events.read(project, { after: far, limit: 1 }), { code: 'invalid_request' });
      const end = await events.getEnd(project);
      assert.deepEqual(await events.read(project, { after: end, limit: 1 }), { events: [], cursor: end });
      const inside = end.replace(/0$/, '1');
      await assert.rejects(events.read(project, { after: inside, limit: 1 }), { code: 'invalid_request' });
    });

    it('are read from now on with the cursor of the end', async (t) => {
      const { events } = (await open(t)).ports;
      const project = unique('p');
      const empty = await events.getEnd(project);
      await events.publish(numbered(project, 3));
      assert.equal((await events.read(project, { after: empty, limit: 10 })).events.length, 3);
      const end = await events.getEnd(project);
      const nothing = await events.read(project, { after: end, limit: 10 });
      assert.deepEqual(nothing, { events: [], cursor: end });
      await events.publish([event(project, 7)]);
      assert.deepEqual(ids((await events.read(project, { after: end, limit: 10 })).events), ['7']);
    });

    it('do not cross projects', async (t) => {
      const { events } = (await open(t)).ports;
      const [mine, other] = [unique('p'), unique('p')];
      await events.publish([event(mine, 1), event(other, 2), event(mine, 3)]);
      assert.deepEqual(ids((await events.read(mine, { limit: 10 })).events), ['1', '3']);
      assert.deepEqual(ids((await events.read(other, { limit: 10 })).events), ['2']);
      assert.deepEqual((await events.read(unique('p'), { limit: 10 })).events, []);
    });

    it('wake whoever waits for more', async (t) => {
      const { ports, now } = await open(t);
      const project = unique('p');
      const begun = now();
      const end = await ports.events.getEnd(project);
      const more = ports.events.waitForMore(project, end, 60_000);
      await ports.events.publish([event(project, 1)]);
      await more;
      assert.equal((await ports.events.read(project, { after: end, limit: 1 })).events.length, 1);
      assert.ok(now() < begun + 60_000);
    });

    it('are not waited for where there are more already', async (t) => {
      const { events } = (await open(t)).ports;
      const project = unique('p');
      const end = await events.getEnd(project);
      await events.publish([event(project, 1)]);
      await events.waitForMore(project, end, 60_000);
    });

    it('are waited for until the time is over or the wait is aborted', async (t) => {
      const { ports, pass } = await open(t);
      const project = unique('p');
      const end = await ports.events.getEnd(project);
      const more = ports.events.waitForMore(project, end, 500);
      await pass(500);
      await more;
      const stop = new AbortController();
      const stopped = ports.events.waitForMore(project, end, 60_000, stop.signal);
      stop.abort();
      await stopped;
    });

    it('survive a crash, and so do cursors', async (t) => {
      const engine = await open(t);
      const project = unique('p');
      await engine.ports.events.publish(numbered(project, 4));
      const { cursor } = await engine.ports.events.read(project, { limit: 2 });
      await engine.crash();
      await engine.ports.events.publish([event(project, 9)]);
      assert.deepEqual(ids((await engine.ports.events.read(project, { after: cursor, limit: 9 })).events), [
        '2',
        '3',
        '9',
      ]);
    });

    it('come after a cursor that was given before a long silence and a restart', async (t) => {
      const engine = await open(t);
      const project = unique('p');
      await engine.ports.events.publish(numbered(project, 4));
      const end = await engine.ports.events.getEnd(project);
      engine.follow({});
      // Longer than any event is kept, and once more for what removes them.
      for (let days = 0; days < 40; days++) await engine.pass(86_400_000);
      await engine.crash();
      await engine.ports.events.publish([event(project, 9)]);
      assert.deepEqual(ids((await engine.ports.events.read(project, { after: end, limit: 9 })).events), ['9']);
    });
  });
};
