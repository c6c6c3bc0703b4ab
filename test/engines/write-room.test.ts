import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { BackPressure } from '../../shared/engines/embedded/back-pressure.ts';
import { QueueWaiters } from '../../shared/engines/embedded/queue-waiters.ts';

/** A room with no place left, and many who wait for one. */
const fullRoom = (writes: (n: number) => number = () => 1) => {
  const room = new BackPressure(10);
  room.enable();
  room.increase(10);
  const written: number[] = [];
  const all = Array.from({ length: 1000 }, (_, n) =>
    room.waitForCapacity(async () => {
      written.push(n);
      room.increase(writes(n));
    }),
  );
  return { room, written, all };
};

describe('those who wait to write', () => {
  it('are woken one for each change that leaves, in the order in which they came', async () => {
    const { room, written } = fullRoom();
    await turn();
    assert.deepEqual(written, []);
    room.decrease(3);
    await turn();
    assert.deepEqual(written, [0, 1, 2]);
    room.decrease(1);
    await turn();
    assert.deepEqual(written, [0, 1, 2, 3]);
  });

  it('are not overtaken by one who comes when there is room', async () => {
    const { room, written } = fullRoom();
    room.decrease(1);
    void room.waitForCapacity(async () => void written.push(-1));
    await turn();
    assert.deepEqual(written, [0]);
  });

  it('leave their place to the next where their write changes nothing', async () => {
    const { room, written, all } = fullRoom(() => 0);
    room.decrease(1);
    await Promise.all(all);
    assert.equal(written.length, 1000);
  });

  it('are refused while nobody makes room, and so is whoever comes, until somebody does again', async () => {
    const { room, written, all } = fullRoom();
    const full = new Error('the disk is full');
    room.refuse(full);
    const ends = await Promise.allSettled([...all, room.waitForCapacity(async () => {})]);
    assert.ok(ends.every((end) => end.status === 'rejected' && end.reason === full));
    room.admit();
    const later = room.waitForCapacity(async () => void written.push(-1));
    room.decrease(1);
    await later;
    assert.deepEqual(written, [-1]);
  });

  it('all write when nobody makes room any more', async () => {
    const { room, written, all } = fullRoom();
    room.disable();
    await Promise.all(all);
    assert.equal(written.length, 1000);
  });
});

describe('those who wait for a message', () => {
  it('are asked only where they wait in its lane, and one of them is woken', () => {
    const waiters = new QueueWaiters();
    const asked: string[] = [];
    const woken: string[] = [];
    const wait = (name: string, lanes: string[], isLeft: boolean): void => {
      const leaves = (): boolean => {
        asked.push(name);
        return isLeft;
      };
      waiters.add({
        queueNames: lanes,
        skip: leaves,
        sleep: { done: Promise.resolve(), endEarly: () => void woken.push(name) },
      });
    };
    for (let n = 0; n < 1000; n++) wait(`other-${n}`, ['elsewhere'], false);
    wait('picky', ['here'], true);
    wait('first', ['here', 'elsewhere'], false);
    wait('second', ['here'], false);
    waiters.wakeOne(['here'], {});
    assert.deepEqual([asked, woken], [['picky', 'first'], ['first']]);
    for (let n = 0; n < 1000; n++) waiters.wakeOne(['elsewhere'], {});
    waiters.wakeOne(['here'], {});
    assert.equal(woken.filter((name) => name === 'first').length, 1);
    assert.equal(woken.at(-1), 'second');
  });
});
