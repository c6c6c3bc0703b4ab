import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { buildJsonRequest, parseJsonResponse } from '../../local/cloudformation-runner/backends/call-json.ts';
import { eventually } from '../support/eventually.ts';
import { deployed, getAtt, ref, type SmallDeployment, wholeSuite } from './small-template.ts';
import { TELL, type Witness, witnessFor } from './witness.ts';

/** Tells every batch; a body of `fail` fails once, one of `poison` always, `explode` fails the whole batch once. */
const READER = `
${TELL}
const seen = new Set();
export const handler = async ({ Records }) => {
  await tell(Records);
  const bodies = Records.map(({ body }) => JSON.parse(body));
  if (bodies.some(({ text }) => text === 'explode') && !seen.has('explode')) {
    seen.add('explode');
    throw new Error('it exploded');
  }
  const failed = Records.filter((record, index) => {
    const { text, id } = bodies[index];
    if (text === 'poison') return true;
    if (text !== 'fail' || seen.has(id)) return false;
    seen.add(id);
    return true;
  });
  return { batchItemFailures: failed.map(({ messageId }) => ({ itemIdentifier: messageId })) };
};
`;

const READ = ['sqs:ReceiveMessage', 'sqs:DeleteMessage', 'sqs:GetQueueAttributes'];
const MAPPING = 'AWS::Lambda::EventSourceMapping';
/** Whoever reads is done within this on a busy machine, too; and so long it takes until what failed comes again. */
const VISIBILITY_S = 4;

describe('a function that reads a queue', { concurrency: 1 }, () => {
  const owner = wholeSuite();
  let here: SmallDeployment;
  let witness: Witness;

  const send = async (queue: string, body: object, more: object = {}): Promise<void> => {
    const target = 'AmazonSQS.SendMessage';
    const QueueUrl = `https://sqs.us-east-1.amazonaws.com/000000000000/${queue}`;
    const message = { QueueUrl, MessageBody: JSON.stringify(body), ...more };
    const accessKey = here.createAccessKey('sender');
    const request = buildJsonRequest(accessKey, 'us-east-1', 'sqs', target, message);
    parseJsonResponse(target, await here.gateway.handle(request));
  };
  const texts = (): string[] => witness.heard.flat().map(({ body }) => JSON.parse(body).text);
  const isEmpty = (queue: string) =>
    eventually(async () => {
      const target = 'AmazonSQS.GetQueueAttributes';
      const QueueUrl = `https://sqs.us-east-1.amazonaws.com/000000000000/${queue}`;
      const AttributeNames = ['ApproximateNumberOfMessages', 'ApproximateNumberOfMessagesNotVisible'];
      const request = buildJsonRequest(here.createAccessKey('reader'), 'us-east-1', 'sqs', target, {
        QueueUrl,
        AttributeNames,
      });
      const answer = parseJsonResponse(target, await here.gateway.handle(request));
      assert.deepEqual(answer, {
        Attributes: { ApproximateNumberOfMessages: '0', ApproximateNumberOfMessagesNotVisible: '0' },
      });
    });

  before(async () => {
    witness = await witnessFor(owner);
    const queues = [getAtt('Work'), getAtt('Orders'), getAtt('Dead'), getAtt('Filtered')];
    const mapping = (source: string, more: object = {}) => ({
      Type: MAPPING,
      Properties: {
        FunctionName: ref('reader'),
        EventSourceArn: getAtt(source),
        FunctionResponseTypes: ['ReportBatchItemFailures'],
        ...more,
      },
    });
    const redrive = { deadLetterTargetArn: getAtt('Dead'), maxReceiveCount: 2 };
    here = await deployed(
      owner,
      {
        reader: {
          code: READER,
          env: { WITNESS: witness.address },
          allow: [{ Action: READ, Resource: queues }],
          properties: { Timeout: VISIBILITY_S },
        },
        sender: { code: '', allow: [{ Action: 'sqs:SendMessage', Resource: queues }] },
        reaper: {
          code: `${TELL} export const handler = ({ Records }) => tell(Records.map((record) => ({ ...record, isDead: true })));`,
          env: { WITNESS: witness.address },
          allow: [{ Action: READ, Resource: getAtt('Dead') }],
          properties: { Timeout: VISIBILITY_S },
        },
      },
      {
        Work: {
          Type: 'AWS::SQS::Queue',
          Properties: { QueueName: 'work', VisibilityTimeout: VISIBILITY_S, RedrivePolicy: redrive },
        },
        Dead: { Type: 'AWS::SQS::Queue', Properties: { QueueName: 'dead', VisibilityTimeout: VISIBILITY_S } },
        Orders: {
          Type: 'AWS::SQS::Queue',
          Properties: { QueueName: 'orders.fifo', FifoQueue: true, VisibilityTimeout: VISIBILITY_S },
        },
        Filtered: { Type: 'AWS::SQS::Queue', Properties: { QueueName: 'filtered', VisibilityTimeout: VISIBILITY_S } },
        // Long enough that what is sent at once is read together.
        FromWork: mapping('Work', { BatchSize: 5, MaximumBatchingWindowInSeconds: 1 }),
        FromOrders: mapping('Orders'),
        FromFiltered: mapping('Filtered', {
          FilterCriteria: { Filters: [{ Pattern: JSON.stringify({ body: { text: [{ prefix: 'yes' }] } }) }] },
        }),
        FromDead: {
          Type: MAPPING,
          Properties: { FunctionName: ref('reaper'), EventSourceArn: getAtt('Dead'), BatchSize: 1 },
        },
      },
    );
  });

  it('gets messages as Lambda hands them over, and they are deleted', async () => {
    await send(
      'work',
      { text: 'plain' },
      { MessageAttributes: { colour: { DataType: 'String', StringValue: 'red' } } },
    );
    await witness.until(() => texts().includes('plain'));
    const [record] = witness.heard.flat();
    assert.equal(record.eventSource, 'aws:sqs');
    assert.equal(record.eventSourceARN, 'arn:aws:sqs:us-east-1:000000000000:work');
    assert.equal(record.attributes.ApproximateReceiveCount, '1');
    assert.deepEqual(record.messageAttributes, { colour: { dataType: 'String', stringValue: 'red' } });
    await isEmpty('work');
  });

  it('gets again only what it reported as failed', async () => {
    witness.heard.length = 0;
    const good = Array.from({ length: 9 }, (_, n) => `good ${n}`);
    await Promise.all([...good, 'fail'].map((text) => send('work', { text, id: 'partial' })));
    await witness.until(() => texts().filter((text) => text === 'fail').length === 2);
    await isEmpty('work');
    assert.deepEqual(texts().toSorted(), ['fail', 'fail', ...good]);
    const sizes = witness.heard.map((batch) => batch.length);
    assert.ok(Math.max(...sizes) > 1 && Math.max(...sizes) <= 5, `batches of ${sizes}`);
    const [withFailure] = witness.heard.filter((batch) =>
      batch.some(({ body }: { body: string }) => JSON.parse(body).text === 'fail'),
    );
    assert.ok(withFailure.length > 1, 'it failed alone');
  });

  it('gets the whole batch again when it throws', async () => {
    witness.heard.length = 0;
    await send('work', { text: 'explode' });
    await witness.until(() => texts().filter((text) => text === 'explode').length === 2);
    await isEmpty('work');
    assert.ok(here.trouble.some((line) => line.includes('reader failed: Error: it exploded')));
  });

  it('is spared a poison message after its last receive: it goes to the dead-letter queue and is read there', async () => {
    witness.heard.length = 0;
    await send('work', { text: 'poison' });
    await witness.until(() => witness.heard.flat().some(({ isDead }) => isDead));
    const dead = witness.heard.flat().filter(({ isDead }) => isDead);
    assert.equal(dead.length, 1);
    assert.equal(JSON.parse(dead[0].body).text, 'poison');
    assert.equal(texts().filter((text) => text === 'poison').length, 2 + 1);
    await isEmpty('work');
  });

  it('gets the messages of a group in order, also when one of them fails first', async () => {
    witness.heard.length = 0;
    for (const [n, text] of ['one', 'fail', 'three', 'four'].entries()) {
      await send('orders.fifo', { text, id: 'ordered' }, { MessageGroupId: 'g', MessageDeduplicationId: `${n}` });
    }
    await witness.until(() => texts().includes('four'));
    assert.deepEqual(texts(), ['one', 'fail', 'fail', 'three', 'four']);
    await isEmpty('orders.fifo');
  });

  it('gets only what its filter lets pass, and the rest is deleted', async () => {
    witness.heard.length = 0;
    await send('filtered', { text: 'no' });
    await send('filtered', { text: 'yes please' });
    await witness.until(() => texts().length > 0);
    await isEmpty('filtered');
    assert.deepEqual(texts(), ['yes please']);
  });
});
