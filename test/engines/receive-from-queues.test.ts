import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { ChangeMessageVisibilityBatchCommand, type SQSClient } from '@aws-sdk/client-sqs';
import { QueueActivityIndex } from '../../shared/engines/aws/queue-activity-index.ts';
import { createReceiver } from '../../shared/engines/aws/receive-messages.ts';
import type { PollOptions } from '../../shared/engines/aws/sqs-receive.ts';
import { PRIORITIES, type Priority, type QueueKey, type ReceivedMessage } from '../../shared/ports/queues.ts';
import { testParley } from '../support/test-parley.ts';

const lane = (priority: Priority): QueueKey => ({ project: 'default', kind: 'domain', name: 'security', priority });
const LANES = PRIORITIES.map(lane);
const messageIn = (priority: Priority): ReceivedMessage => ({
  queueKey: lane(priority),
  group: priority,
  body: priority,
  receipt: priority,
});

type Poll = (priority: Priority, options: PollOptions) => Promise<ReceivedMessage[]>;

/** Until the receiver has what it wants; then what it had taken after all. */
const untilAborted = ({ signal }: PollOptions, late: ReceivedMessage[] = []): Promise<ReceivedMessage[]> =>
  new Promise((resolve) => {
    if (signal?.aborted) resolve(late);
    else signal?.addEventListener('abort', () => resolve(late));
  });

const receiverOf = async (t: TestContext, poll: Poll) => {
  const { parley } = await testParley(t);
  const { clock, newId, records } = parley.deps;
  const activity = new QueueActivityIndex({ records, clock, newId });
  await activity.recordActivity(LANES);
  const asked: { priority: Priority; waitSeconds: number }[] = [];
  const released: string[] = [];
  const sqs = {
    send: async (command: unknown) => {
      assert.ok(command instanceof ChangeMessageVisibilityBatchCommand);
      for (const { ReceiptHandle = '' } of command.input.Entries ?? []) released.push(ReceiptHandle);
      return {};
    },
  };
  const queues = {
    // No call but a release goes to SQS itself.
    sqs: sqs as unknown as SQSClient,
    urlPrefix: 'https://sqs/',
    toSuffix: ({ priority }: QueueKey) => priority,
    hasQueue: () => true,
    onUndeliverable: () => {},
    clock,
    newId,
  };
  const { receive } = createReceiver(queues, { records, clock, newId }, activity, {
    poll: ({ priority }, options) => {
      asked.push({ priority, waitSeconds: options.waitSeconds });
      return poll(priority, options);
    },
  });
  return { receive, asked, released };
};

const WAITING = { max: 1, waitMs: 20_000, visibilityMs: 30_000 };

describe('a claim that waits in several queues', () => {
  it('is answered by the first that has something, while the others are still asked', async (t) => {
    const { receive, released } = await receiverOf(t, async (priority, options) => {
      if (options.waitSeconds === 0) return [];
      return priority === 'low' ? [messageIn('low')] : untilAborted(options);
    });
    assert.deepEqual(
      (await receive(LANES, WAITING)).map(({ body }) => body),
      ['low'],
    );
    assert.deepEqual(released, []);
  });

  it('gives the most urgent of what came at the same time, and the rest back', async (t) => {
    const { receive, released } = await receiverOf(t, async (priority, options) => {
      if (options.waitSeconds === 0) return [];
      if (priority === 'low') return [messageIn('low')];
      return untilAborted(options, priority === 'high' ? [messageIn('high')] : []);
    });
    assert.deepEqual(
      (await receive(LANES, WAITING)).map(({ body }) => body),
      ['high'],
    );
    assert.deepEqual(released, ['low']);
  });

  it('gives back what comes as its caller goes', async (t) => {
    const gone = new AbortController();
    const { receive, released } = await receiverOf(t, async (priority, options) => {
      if (options.waitSeconds === 0) return [];
      if (priority === 'critical') setImmediate(() => gone.abort());
      return untilAborted(options, [messageIn(priority)]);
    });
    assert.deepEqual(await receive(LANES, { ...WAITING, signal: gone.signal }), []);
    assert.deepEqual(released.toSorted(), PRIORITIES.toSorted());
  });

  it('fails where a queue does, and gives what others have in spite of it', async (t) => {
    let isAlone = true;
    const { receive } = await receiverOf(t, async (priority, options) => {
      if (options.waitSeconds === 0) return [];
      if (priority === 'critical') throw new Error('no queue');
      return untilAborted(options, isAlone ? [] : [messageIn(priority)]);
    });
    await assert.rejects(receive(LANES, WAITING), /no queue/);
    isAlone = false;
    assert.equal((await receive(LANES, WAITING)).length, 1);
  });
});

describe('a claim that does not wait', () => {
  it('asks less urgent queues only if the urgent ones have too little', async (t) => {
    let urgent = 1;
    const { receive, asked } = await receiverOf(t, async (priority) =>
      priority === 'high' && urgent-- > 0 ? [messageIn('high')] : [],
    );
    assert.equal((await receive(LANES, { ...WAITING, waitMs: 0 })).length, 1);
    assert.deepEqual(
      asked.map(({ priority }) => priority),
      ['critical', 'high'],
    );
    assert.equal((await receive(LANES, { ...WAITING, waitMs: 0 })).length, 0);
    assert.deepEqual(
      asked.slice(2).map(({ priority }) => priority),
      PRIORITIES,
    );
  });
});

it('a claim that waits in one queue asks it once, and longer each time', async (t) => {
  const { receive, asked } = await receiverOf(t, async (_, { waitSeconds }) =>
    waitSeconds > 1 ? [messageIn('normal')] : [],
  );
  assert.equal((await receive([lane('normal')], WAITING)).length, 1);
  assert.deepEqual(
    asked.map(({ waitSeconds }) => waitSeconds),
    [1, 20],
  );
});
