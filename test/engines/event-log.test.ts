import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { RECORDS } from '../../shared/effects/record-definitions.ts';
import { createAwsClients } from '../../shared/engines/aws/aws-clients.ts';
import { createDynamoEvents } from '../../shared/engines/aws/dynamo-events.ts';
import { createDynamoRecords } from '../../shared/engines/aws/dynamo-records.ts';
import { createDynamoTable } from '../../shared/engines/aws/dynamo-table.ts';
import { type Clock, systemClock } from '../../shared/ports/clock.ts';
import type { Events, ParleyEvent } from '../../shared/ports/events.ts';
import type { Records } from '../../shared/ports/records.ts';
import { type AwsServices, startAwsServices } from '../support/aws-services.ts';

const DAY_MS = 86_400_000;
/** What a slow machine does takes no time on it. */
const stoppedClock = () => {
  let now = Date.now();
  return {
    ...systemClock,
    now: () => now,
    advance: (ms: number) => {
      now += ms;
    },
  };
};

const ignore = async (): Promise<void> => {};

const eventOf = (project: string, writer: number, number: number, data: object = {}): ParleyEvent => ({
  id: `${writer}/${number}`,
  project,
  type: 'task.claimed',
  at: number,
  data: { writer, number, ...data },
});

describe('the event log of the AWS engine', { concurrency: 1 }, () => {
  let services: AwsServices;
  const table = `t-${randomUUID()}`;
  let writes = { done: 0, refused: 0 };
  const ends: (() => void)[] = [];

  before(async () => {
    services = await startAwsServices();
    await services.createTable(table);
  });

  after(async () => {
    for (const end of ends) end();
    await services.stop();
  });

  /** As one instance of a function has it. */
  const openLog = (
    clock: Clock = systemClock,
    change: (records: Records) => Records = (records) => records,
  ): Events => {
    const { dynamo } = createAwsClients(services.dynamo);
    ends.push(() => dynamo.destroy());
    dynamo.middlewareStack.add(
      (next, { commandName = '' }) =>
        async (args) => {
          try {
            return await next(args);
          } catch (error) {
            if (Object(error).name === 'ConditionalCheckFailedException') writes.refused += 1;
            throw error;
          } finally {
            if (/^(Put|Update)Item/.test(commandName)) writes.done += 1;
          }
        },
      { step: 'initialize' },
    );
    const records = createDynamoRecords(createDynamoTable(dynamo, table, RECORDS, clock));
    return createDynamoEvents({ records: change(records), clock, newId: randomUUID, retentionMs: DAY_MS }, ignore);
  };

  const readAll = async (events: Events, project: string, after?: string) => {
    const { events: found, cursor } = await events.read(project, { after, limit: 1000 });
    return { ids: found.map(({ id }) => id), cursor };
  };

  for (const writers of [1, 2, 4, 8, 40]) {
    it(`costs no append more than 0.2 refused writes with ${writers} writers that never pause`, async (t) => {
      const project = randomUUID();
      const logs = Array.from({ length: writers }, () => openLog());
      // What makes a log happens once.
      await logs[0]?.publish([eventOf(project, -1, 0)]);
      writes = { done: 0, refused: 0 };
      const APPENDS = 12;
      const write = async (log: Events, writer: number) => {
        for (let number = 0; number < APPENDS; number++) await log.publish([eventOf(project, writer, number)]);
      };
      await Promise.all(logs.map(write));
      const appends = writers * APPENDS;
      const each = (count: number) => (count / appends).toFixed(2);
      t.diagnostic(`${writers} writers: ${each(writes.refused)} refused, ${each(writes.done)} writes an append`);
      assert.ok(writes.refused / appends <= 0.2, `${writes.refused} of ${appends}`);
    });
  }

  it('gives a reader everything that eight writers append, once and each writer in order', {
    timeout: 60_000,
  }, async () => {
    const project = randomUUID();
    const reader = openLog();
    const [WRITERS, APPENDS] = [8, 15];
    const write = async (writer: number) => {
      const log = openLog();
      for (let number = 0; number < APPENDS; number++) await log.publish([eventOf(project, writer, number)]);
    };
    const writing = Promise.all(Array.from({ length: WRITERS }, (_, writer) => write(writer)));
    const seen: string[] = [];
    for (let cursor: string | undefined; seen.length < WRITERS * APPENDS; ) {
      const page = await readAll(reader, project, cursor);
      seen.push(...page.ids);
      if (page.cursor === cursor) await reader.waitForMore(project, cursor, 2000);
      cursor = page.cursor;
    }
    await writing;
    for (let writer = 0; writer < WRITERS; writer++) {
      const own = seen.filter((id) => id.startsWith(`${writer}/`));
      assert.deepEqual(
        own,
        Array.from({ length: APPENDS }, (_, number) => `${writer}/${number}`),
      );
    }
  });

  /** Its first append has a number, and is not written before `release`. */
  const openSlowLog = (clock: Clock) => {
    const [asked, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const slow = openLog(clock, (records) => ({
      ...records,
      create: async (item, token) => {
        if (Object.hasOwn(item, 'batch')) {
          asked.resolve();
          await gate.promise;
        }
        return records.create(item, token);
      },
    }));
    return { slow, asked: asked.promise, release: gate.resolve };
  };

  it('gives no event behind a batch that a writer is about to write, and misses it not when the writer is late', async () => {
    const clock = stoppedClock();
    const project = randomUUID();
    const log = openLog(clock);
    await log.publish([eventOf(project, 1, 1)]);
    const { slow, asked, release } = openSlowLog(clock);
    const late = slow.publish([eventOf(project, 2, 1)]);
    await asked;
    await log.publish([eventOf(project, 1, 2)]);
    const before = await readAll(log, project);
    assert.deepEqual(before.ids, ['1/1']);
    clock.advance(1001);
    const { ids, cursor } = await readAll(log, project, before.cursor);
    assert.deepEqual(ids, ['1/2']);
    release();
    await late;
    assert.deepEqual((await readAll(log, project, cursor)).ids, ['2/1']);
    assert.deepEqual((await readAll(log, project)).ids, ['1/1', '1/2', '2/1']);
  });

  it('lets nothing slip in behind a reader of the last events that goes on from the end', async () => {
    const clock = stoppedClock();
    const project = randomUUID();
    const log = openLog(clock);
    const { slow, asked, release } = openSlowLog(clock);
    const late = slow.publish([eventOf(project, 2, 1)]);
    await asked;
    await log.publish([eventOf(project, 1, 1)]);
    const end = await log.getEnd(project);
    const last = await log.read(project, { after: end, newestFirst: true, limit: 10 });
    release();
    await late;
    const next = await readAll(log, project, end);
    assert.deepEqual([...last.events.map(({ id }) => id), ...next.ids].toSorted(), ['1/1', '2/1']);
  });

  it('has its end before what a writer is about to write, so that a reader from now on gets it', async () => {
    const clock = stoppedClock();
    const project = randomUUID();
    const { slow, asked, release } = openSlowLog(clock);
    const late = slow.publish([eventOf(project, 2, 1)]);
    await asked;
    const log = openLog(clock);
    const end = await log.getEnd(project);
    release();
    await late;
    assert.deepEqual((await readAll(log, project, end)).ids, ['2/1']);
    assert.deepEqual((await readAll(log, project, await log.getEnd(project))).ids, []);
  });

  it('goes on for readers where a writer died with its number', async () => {
    const clock = stoppedClock();
    const project = randomUUID();
    const log = openLog(clock);
    const { slow, asked } = openSlowLog(clock);
    void slow.publish([eventOf(project, 2, 1)]);
    await asked;
    const start = await readAll(log, project);
    assert.deepEqual(start.ids, []);
    await log.publish([eventOf(project, 1, 1)]);
    clock.advance(1001);
    assert.deepEqual((await readAll(log, project, start.cursor)).ids, ['1/1']);
  });

  it('keeps an event that fits no item without its largest fields, and says which', async () => {
    const project = randomUUID();
    const log = openLog();
    const text = randomBytes(400_000).toString('base64');
    await log.publish([
      eventOf(project, 1, 1),
      eventOf(project, 1, 2, { text, taskId: 'task' }),
      eventOf(project, 1, 3),
    ]);
    const { events } = await log.read(project, { limit: 10 });
    assert.deepEqual(
      events.map(({ data }) => data),
      [
        { writer: 1, number: 1 },
        { writer: 1, number: 2, taskId: 'task', omitted: ['text'] },
        { writer: 1, number: 3 },
      ],
    );
  });
});
