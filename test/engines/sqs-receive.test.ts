import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { SQSClient } from '@aws-sdk/client-sqs';
import { receiveSkipping } from '../../shared/engines/aws/sqs-receive.ts';
import { systemClock } from '../../shared/ports/clock.ts';
import type { QueueKey } from '../../shared/ports/queues.ts';

const QUEUE: QueueKey = { project: 'default', kind: 'domain', name: 'home', priority: 'normal' };

describe('a receive from SQS', () => {
  it('is in the order in which its tasks were queued, though SQS gives groups in any order', async () => {
    const times = [30, 10, undefined, 20];
    const Messages = times.map((at, n) => ({
      Body: JSON.stringify({ group: `task-${n}`, at, body: { at } }),
      ReceiptHandle: `${n}`,
    }));
    // What SQS answers is the whole of this test.
    const sqs = { send: async () => ({ Messages }) } as unknown as SQSClient;
    const queues = {
      sqs,
      urlPrefix: 'https://sqs/',
      toSuffix: ({ name }: QueueKey) => name,
      hasQueue: () => true,
      onUndeliverable: () => {},
      clock: systemClock,
      newId: () => 'attempt',
    };
    const received = await receiveSkipping(queues, QUEUE, { max: 10, waitSeconds: 0, visibilityMs: 1000 });
    assert.deepEqual(
      received.map(({ at }) => at),
      [undefined, 10, 20, 30],
    );
  });
});
