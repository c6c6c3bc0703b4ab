import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, describe, it } from 'node:test';
import { CreateQueueCommand, SQSClient } from '@aws-sdk/client-sqs';
import { startFauxqs } from 'fauxqs';
import { bindToLoopback } from '../../local/cloudformation-runner/index.ts';
import { type SqsQueues, sendToSqs } from '../../shared/engines/aws/sqs-queue.ts';
import { systemClock } from '../../shared/ports/clock.ts';
import type { QueueKey } from '../../shared/ports/queues.ts';
import { SharedPolls } from '../../waiter/shared-polls.ts';
import { eventually } from '../support/eventually.ts';

const server = await bindToLoopback(() => startFauxqs({ port: 0, logger: false }));
const credentials = { accessKeyId: 'test', secretAccessKey: 'test' };
const sqs = new SQSClient({ endpoint: `http://127.0.0.1:${server.port}`, region: 'us-east-1', credentials });
after(async () => {
  sqs.destroy();
  await server.stop();
});

const KEY: QueueKey = { project: 'default', kind: 'domain', name: 'kitchen', priority: 'normal' };
const OPTIONS = { max: 1, waitSeconds: 20, visibilityMs: 30_000 };

const openQueue = async (tasks: string[]): Promise<SqsQueues> => {
  const name = randomUUID();
  const Attributes = { FifoQueue: 'true', ContentBasedDeduplication: 'true' };
  await sqs.send(new CreateQueueCommand({ QueueName: `${name}.fifo`, Attributes }));
  const queues = {
    sqs,
    urlPrefix: `http://127.0.0.1:${server.port}/000000000000/`,
    toSuffix: () => `${name}.fifo`,
    hasQueue: () => true,
    onUndeliverable: () => {},
    clock: systemClock,
    newId: randomUUID,
  };
  const bodies = tasks.map((taskId) => ({ taskId, queueGeneration: 1 }));
  const messages = bodies.map((body) => ({ queueKey: KEY, group: body.taskId, dedupId: body.taskId, at: 0, body }));
  for (const message of messages) await sendToSqs(queues, [message]);
  return queues;
};

const isSlow = (body: unknown): boolean => JSON.stringify(body).includes('slow');

describe('one poll of a queue for all who wait', { timeout: 30_000 }, () => {
  it('reads on behind what nobody who waits may have', { timeout: 10_000 }, async () => {
    const slow = Array.from({ length: 15 }, (_, index) => `slow-${index}`);
    const polls = new SharedPolls(await openQueue([...slow, 'quick']));
    const [received] = await polls.poll(KEY, { ...OPTIONS, skip: isSlow });
    assert.equal(JSON.parse(JSON.stringify(received?.body)).taskId, 'quick');
    await polls.stop();
  });

  it('leaves to who asks without waiting what those who wait may not have', async () => {
    const polls = new SharedPolls(await openQueue(['slow-1']));
    const leaving = new AbortController();
    const waiting = polls.poll(KEY, { ...OPTIONS, skip: isSlow, signal: leaving.signal });
    await eventually(async () => {
      assert.equal((await polls.poll(KEY, { ...OPTIONS, waitSeconds: 0 })).length, 1);
    }, 10_000);
    leaving.abort();
    assert.deepEqual(await waiting, []);
  });
});
