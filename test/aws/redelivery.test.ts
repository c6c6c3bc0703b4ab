import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, describe, it } from 'node:test';
import { z } from 'zod';
import { taskRef } from '../../shared/model/task.ts';
import type { TestAgent } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { runParley } from './running-parley.ts';
import { type StoredItem, storedTask, streamRecord } from './stored-items.ts';

const parley = await runParley({ after });

const NOTHING_FAILED = { batchItemFailures: [] };
const LaneMessages = z.object({ Messages: z.array(z.object({ Body: z.string() })).default([]) });

const serving = (domain: string) => parley.agent(`lance-${randomUUID()}`, { domains: [domain] });
const requester = () => parley.agent(`tim-${randomUUID()}`, {});
const idsOf = (tasks: { message: { id: string } }[]): string[] => tasks.map(({ message }) => message.id);

const again = async (name: string, records: object[]): Promise<void> =>
  assert.deepEqual(await parley.ask(name, { Records: records }), NOTHING_FAILED);

const queueRecord = (body: object): object => ({ messageId: randomUUID(), body: JSON.stringify(body) });
const laneMessage = (id: string, entry: number) => ({
  project: 'default',
  group: id,
  body: { taskId: id, queueGeneration: entry },
});

/** Puts a message into the queue as if it came another time, after SQS has forgotten the first one. */
const send = (queue: string, body: object): Promise<unknown> =>
  parley.aws('sqs', 'SendMessage', {
    QueueUrl: parley.queue(queue),
    MessageBody: JSON.stringify(body),
    MessageGroupId: randomUUID(),
    MessageDeduplicationId: randomUUID(),
  });

interface Seen {
  task: unknown;
  inbox: unknown;
  events: string[];
}

const seenBy = async (tim: TestAgent, id: string): Promise<Seen> => {
  const { events } = (await tim.call('GET', '/v1/events?limit=500')).body;
  const own = events.filter(({ data }: { data: { taskId: string } }) => data.taskId === id);
  return {
    task: await tim.task(id),
    inbox: await tim.inbox(),
    events: [...new Set<string>(own.map((event: { id: string }) => event.id))].sort(),
  };
};

const edges = (count: number) => (seen: Seen) => assert.equal(seen.events.length, count, JSON.stringify(seen.events));

/** A task that failed once, was repeated, and failed for good: everything that dispatch can do follows from it. */
const wholeLife = async (tim: TestAgent, lance: TestAgent, domain: string) => {
  const images: (StoredItem | undefined)[] = [undefined];
  const id = await tim.request({ payload: { task: `${domain}.status` } });
  images.push(await storedTask(parley, id));
  const claims = async () => assert.deepEqual(idsOf(await lance.claim({ wait: 10 })), [id]);
  await claims();
  images.push(await storedTask(parley, id));
  await lance.fail(id, { error: 'rate_limited', message: 'later', retryAfterSeconds: 0 });
  await claims();
  images.push(await storedTask(parley, id));
  await lance.progress(id);
  images.push(await storedTask(parley, id));
  await lance.fail(id, { error: 'skill_missing', message: 'never' });
  images.push(await storedTask(parley, id));
  const records = images.slice(1).flatMap((after, n) => (after ? [streamRecord(images[n], after, n + 1)] : []));
  return { id, records };
};

describe('what comes again changes nothing', { concurrency: 1 }, () => {
  it('records of the stream: all of them, the oldest alone, and in the wrong order between batches', async () => {
    const [tim, lance] = [await requester(), await serving('home')];
    const { id, records } = await wholeLife(tim, lance, 'home');
    await eventually(async () => edges(6)(await seenBy(tim, id)), 30_000);
    const before = await seenBy(tim, id);
    const stored = await storedTask(parley, id);
    await again('dispatch', records);
    await again('dispatch', records.slice(0, 1));
    await again('dispatch', [...records.slice(2), ...records.slice(0, 2)]);
    const { events, ...rest } = await seenBy(tim, id);
    const { events: eventsBefore, ...restBefore } = before;
    assert.deepEqual(rest, restBefore);
    assert.ok(eventsBefore.every((event) => events.includes(event)));
    assert.deepEqual(await storedTask(parley, id), stored);
    assert.deepEqual(await lance.claim({ wait: 1 }), []);
  });

  it('messages of a lane: a claimed or an ended task is given to nobody', async () => {
    const [tim, lance, bors] = [await requester(), await serving('home'), await serving('home')];
    const id = await tim.request({ payload: { task: 'home.status' } });
    const due = Number((await storedTask(parley, id)).due?.N);
    const message = { ...laneMessage(id, 1), body: { taskId: id, queueGeneration: 1, due } };
    assert.deepEqual(idsOf(await lance.claim({ wait: 10 })), [id]);
    await send('default-home-normal.fifo', message);
    assert.deepEqual(await bors.claim({ wait: 2 }), []);
    assert.equal((await lance.complete(id)).status, 202);
    await send('default-home-normal.fifo', message);
    assert.deepEqual(await bors.claim({ wait: 2 }), []);
    const { state, attempt, metadata } = await tim.task(id);
    assert.deepEqual([state, attempt, metadata.agent], ['completed', 1, lance.id]);
    const queue = { QueueUrl: parley.queue('default-home-normal.fifo'), VisibilityTimeout: 0 };
    assert.deepEqual(LaneMessages.parse(await parley.aws('sqs', 'ReceiveMessage', queue)).Messages, []);
  });

  it('messages of the timers: what has fired, what was moved, and what is not due yet', async () => {
    const [tim, galahad] = [await requester(), await parley.agent(`galahad-${randomUUID()}`, {})];
    const fired = await tim.request({ to: galahad.id, ttl: 1 });
    const due = Number((await storedTask(parley, fired)).due?.N);
    assert.equal((await tim.task(fired, 20)).state, 'expired');
    await eventually(async () => assert.equal((await tim.inbox()).length, 1));
    const waiting = await tim.request({ to: galahad.id });
    const stored = await Promise.all([fired, waiting].map((id) => storedTask(parley, id)));
    const later = Number(stored[1]?.due?.N);
    const message = (id: string, at: number) => queueRecord({ ...taskRef('default', id), due: at });
    const records = [message(fired, due), message(fired, due), message(waiting, due), message(waiting, later)];
    await again('due', records);
    await again('due', records);
    assert.deepEqual(await Promise.all([fired, waiting].map((id) => storedTask(parley, id))), stored);
    assert.equal((await tim.inbox()).length, 1);
  });

  it('messages of the dead-letter queue: the task is given once', async () => {
    const [tim, lance] = [await requester(), await serving('home')];
    const id = await tim.request({ payload: { task: 'home.status' } });
    await again('dead-letters', [queueRecord(laneMessage(id, 1)), queueRecord(laneMessage(id, 1))]);
    await again('dead-letters', [queueRecord(laneMessage(id, 1))]);
    assert.deepEqual(idsOf(await lance.claim({ wait: 10 })), [id]);
    assert.deepEqual(await lance.claim({ wait: 2 }), []);
    assert.equal((await lance.complete(id)).status, 202);
    assert.equal((await tim.task(id)).attempt, 1);
  });

  it('messages of the dead-letter queue that say nothing: they end there, and those beside them are carried out', async () => {
    const [tim, lance] = [await requester(), await serving('home')];
    const id = await tim.request({ payload: { task: 'home.status' } });
    const empty = ['this is no JSON', '', 'null', '{}'].map((body) => ({ messageId: randomUUID(), body }));
    await again('dead-letters', [...empty, queueRecord(laneMessage(id, 1))]);
    assert.deepEqual(idsOf(await lance.claim({ wait: 10 })), [id]);
    assert.equal((await lance.complete(id)).status, 202);
  });
});

describe('a lane that gives a message up', { concurrency: 1 }, () => {
  const DEAD = 'default-dead.fifo';

  /** Takes the task's message out of its lane, for good. */
  const lose = async (lane: string, id: string): Promise<void> => {
    const url = parley.queue(lane);
    const Received = z.object({ Messages: z.array(z.object({ Body: z.string(), ReceiptHandle: z.string() })) });
    const { Messages: messages } = Received.parse(
      await parley.aws('sqs', 'ReceiveMessage', { QueueUrl: url, MaxNumberOfMessages: 10, WaitTimeSeconds: 2 }),
    );
    const [lost] = messages;
    assert.ok(lost && messages.length === 1 && lost.Body.includes(id));
    await parley.aws('sqs', 'DeleteMessage', { QueueUrl: url, ReceiptHandle: lost.ReceiptHandle });
  };

  it('has it sent again while its task waits', async () => {
    const [tim, lance] = [await requester(), await serving('security')];
    const id = await tim.request({ priority: 'high' });
    await eventually(async () => edges(1)(await seenBy(tim, id)), 30_000);
    await lose('default-security-high.fifo', id);
    assert.deepEqual(await lance.claim(), []);
    await send(DEAD, laneMessage(id, 1));
    assert.deepEqual(idsOf(await lance.claim({ wait: 20 })), [id]);
    assert.equal((await lance.complete(id)).status, 202);
  });

  it('has it dropped when its task is done', async () => {
    const [tim, lance] = [await requester(), await serving('security')];
    const id = await tim.request({ priority: 'high' });
    assert.deepEqual(idsOf(await lance.claim({ wait: 10 })), [id]);
    assert.equal((await lance.complete(id)).status, 202);
    const stored = await storedTask(parley, id);
    await send(DEAD, laneMessage(id, 1));
    // Whatever is behind it in the queue is worked off after it.
    const next = await tim.request({ priority: 'high' });
    await eventually(async () => edges(1)(await seenBy(tim, next)), 30_000);
    await lose('default-security-high.fifo', next);
    await send(DEAD, laneMessage(next, 1));
    assert.deepEqual(idsOf(await lance.claim({ wait: 20, max: 10 })), [next]);
    assert.deepEqual(await storedTask(parley, id), stored);
    const dead = { QueueUrl: parley.queue(DEAD), VisibilityTimeout: 0 };
    assert.deepEqual(LaneMessages.parse(await parley.aws('sqs', 'ReceiveMessage', dead)).Messages, []);
    assert.deepEqual(parley.trouble, []);
  });
});
