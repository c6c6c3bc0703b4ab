import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it, type TestContext } from 'node:test';
import { BatchWriteItemCommand } from '@aws-sdk/client-dynamodb';
import { createAwsClients } from '../../shared/engines/aws/aws-clients.ts';
import { createAwsTimers } from '../../shared/engines/aws/aws-timers.ts';
import { splitIntoChunks } from '../../shared/engines/aws/backoff.ts';
import { createDynamoRecords } from '../../shared/engines/aws/dynamo-records.ts';
import { createDynamoTable } from '../../shared/engines/aws/dynamo-table.ts';
import { DUE_SHARDS } from '../../shared/engines/aws/item-codec.ts';
import { mapConcurrent } from '../../shared/kernel/concurrency.ts';
import { systemClock } from '../../shared/ports/clock.ts';
import { type AwsServices, startAwsServices } from '../support/aws-services.ts';
import { isLong } from '../support/scale.ts';

let services: AwsServices;

before(async () => {
  services = await startAwsServices();
});
after(() => services.stop());

interface Sent {
  pk: string;
  due: number;
  at?: number;
}

/** A table and a delay queue of its own, whose messages go nowhere. */
const sweeping = async (t: TestContext) => {
  const name = `t-${randomUUID()}`;
  await services.createTable(name);
  const { dynamo } = createAwsClients(services.dynamo);
  const { sqs } = createAwsClients(services.faux);
  t.after(() => {
    dynamo.destroy();
    sqs.destroy();
  });
  const sent: Sent[] = [];
  const counts = { underWay: 0, most: 0 };
  let now = Date.now();
  const clock = { ...systemClock, now: () => now };
  sqs.middlewareStack.add(
    () => async (args) => {
      const { Entries } = args.input as { Entries: { MessageBody: string }[] };
      counts.most = Math.max(counts.most, ++counts.underWay);
      await new Promise(setImmediate);
      counts.underWay -= 1;
      sent.push(...Entries.map(({ MessageBody }) => JSON.parse(MessageBody)));
      return { output: { $metadata: {} }, response: {} };
    },
    { step: 'build' },
  );
  const table = createDynamoTable(dynamo, name, {}, clock);
  const timers = createAwsTimers(table, createDynamoRecords(table), sqs, 'http://127.0.0.1/delay');
  const put = async (count: number, due: number, shard = (n: number) => n % DUE_SHARDS): Promise<void> => {
    const puts = Array.from({ length: count }, (_, n) => ({
      PutRequest: {
        Item: {
          pk: { S: `${due}#${n}` },
          sk: { S: 'task' },
          due: { N: String(due + (n % 1000)) },
          dueShard: { S: String(shard(n)) },
        },
      },
    }));
    const send = (some: typeof puts) => dynamo.send(new BatchWriteItemCommand({ RequestItems: { [name]: some } }));
    await mapConcurrent(splitIntoChunks(puts, 25), 8, send);
  };
  const pass = (ms: number): void => {
    now += ms;
  };
  /** What one sweep sends, in its order. */
  const sweep = async (): Promise<Sent[]> => {
    sent.length = 0;
    await timers.sweep(clock.now() + 75_000);
    return [...sent];
  };
  return { clock, counts, timers, put, pass, sweep };
};

describe('a sweep', () => {
  it('sends all that is due in one shard, in no more than ten requests at once: what waits for a connection would run out of time', async (t) => {
    const { clock, counts, put, sweep } = await sweeping(t);
    await put(1200, clock.now() + 30_000, () => 0);
    assert.equal((await sweep()).length, 1200);
    assert.ok(counts.most <= 10, `${counts.most} requests at once`);
  });

  const OVERDUE = isLong ? 50_000 : 7000;

  it(`sends what is newly due first, and all of it, while ${OVERDUE} overdue timers are worked off minute by minute`, async (t) => {
    const { clock, put, pass, sweep } = await sweeping(t);
    await put(OVERDUE, clock.now() - 3_600_000);
    const worked = new Set<string>();
    const inTime: number[] = [];
    const limit = clock.now() - 600_000;
    let minutes = 0;
    for (; worked.size < OVERDUE && minutes < 20; minutes++) {
      await put(50, clock.now() + 30_000);
      const sent = await sweep();
      const firstOverdue = sent.findIndex(({ due }) => due < limit);
      const newlyDue = sent.filter(({ due }) => due >= limit);
      assert.ok(firstOverdue < 0 || sent.slice(0, newlyDue.length).every(({ due }) => due >= limit));
      inTime.push(new Set(newlyDue.filter(({ due }) => due > clock.now()).map(({ pk }) => pk)).size);
      const overdue = sent.filter(({ due }) => due < limit);
      assert.ok(overdue.length <= 5000, `${overdue.length} in a minute`);
      for (const { pk } of overdue) worked.add(pk);
      pass(60_000);
    }
    assert.equal(worked.size, OVERDUE);
    assert.equal(minutes, Math.ceil(OVERDUE / 5000));
    assert.deepEqual(inTime, Array(minutes).fill(50));
    t.diagnostic(`${OVERDUE} overdue: ${minutes} minutes, ${inTime.join('+')} of 50 newly due sent in time`);
  });

  it('spreads a backlog over its minute, and sends a few overdue timers at once', async (t) => {
    const { clock, put, pass, sweep } = await sweeping(t);
    await put(40, clock.now() - 600_000);
    assert.deepEqual([...new Set((await sweep()).map(({ at }) => (at ?? 0) - clock.now()))], [0]);
    await put(4000, clock.now() - 900_000);
    pass(600_000);
    const delays = (await sweep()).map(({ at = 0 }) => at - clock.now()).filter((ms) => ms > 0);
    assert.ok(delays.length > 2000 && Math.max(...delays) > 50_000 && Math.min(...delays) < 5000);
  });

  it('sends an overdue timer again after ten minutes, and not before: while nobody receives, messages must not pile up', async (t) => {
    const { clock, put, pass, sweep } = await sweeping(t);
    await put(1, clock.now() - 600_000);
    const counts: number[] = [];
    for (let minute = 0; minute <= 10; minute++) {
      counts.push((await sweep()).length);
      pass(60_000);
    }
    assert.deepEqual(counts, [1, ...Array(9).fill(0), 1]);
  });

  it('stops sending what is overdue when its time is up', async (t) => {
    const { clock, put, timers } = await sweeping(t);
    await put(100, clock.now() - 600_000);
    await put(10, clock.now() + 1000);
    assert.deepEqual(await timers.sweep(clock.now() + 75_000, { deadline: clock.now() }), { newlyDue: 10, overdue: 0 });
    assert.deepEqual(await timers.sweep(clock.now() + 75_000), { newlyDue: 10, overdue: 100 });
  });
});

describe('a timer that comes late because others waited before it', () => {
  it('is left to the sweep, unless it failed before or the sweep sent it', async (t) => {
    const { clock, put, timers } = await sweeping(t);
    const due = clock.now() - 600_000;
    await put(1, due);
    const fired: string[] = [];
    const fire = (at: number | undefined, isFirstReceive: boolean) =>
      timers.fire({ pk: `${due}#0`, sk: 'task', due, at }, async ({ pk }) => void fired.push(pk), { isFirstReceive });
    await fire(undefined, true);
    await fire(due + 100_000, true);
    assert.equal(fired.length, 0);
    await fire(undefined, false);
    await fire(clock.now(), true);
    assert.equal(fired.length, 2);
  });
});
