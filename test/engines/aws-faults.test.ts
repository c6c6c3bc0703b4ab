import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createAwsClients } from '../../shared/engines/aws/aws-clients.ts';
import { mapAwsErrors } from '../../shared/engines/aws/aws-errors.ts';
import { createAwsQueues } from '../../shared/engines/aws/aws-queues.ts';
import { createDynamoRecords } from '../../shared/engines/aws/dynamo-records.ts';
import { createDynamoTable } from '../../shared/engines/aws/dynamo-table.ts';
import { inspectQueues } from '../../shared/engines/aws/inspect-queues.ts';
import { ParleyError } from '../../shared/kernel/errors.ts';
import { systemClock } from '../../shared/ports/clock.ts';
import { equals } from '../../shared/ports/conditions.ts';
import { buildQueueSuffix } from '../../shared/ports/queue-names.ts';
import type { Records } from '../../shared/ports/records.ts';
import { type Sample, sampleRef, token } from '../contract/engine-under-test.ts';
import { type AwsServices, startAwsServices } from '../support/aws-services.ts';
import { type Fate, faultyProxy } from '../support/faulty-proxy.ts';

const TABLE = 'faulty';
let services: AwsServices;

before(async () => {
  services = await startAwsServices();
  await services.createTable(TABLE);
});
after(() => services.stop());

/** Records behind a network that does to the first calls what the test says, and lets all others pass. */
const recordsMeeting = async (t: { after(end: () => unknown): void }, ...fates: Fate[]) => {
  const proxy = await faultyProxy(services.dynamo.endpoint, () => fates.shift() ?? 'pass');
  const { dynamo } = createAwsClients({ ...services.dynamo, endpoint: proxy.endpoint });
  t.after(async () => {
    dynamo.destroy();
    await proxy.close();
  });
  const records: Records = createDynamoRecords(createDynamoTable(dynamo, TABLE, {}, systemClock));
  return { records, proxy };
};

const THROTTLED: Fate = { status: 400, error: 'ProvisionedThroughputExceededException' };

const isTold = (error: unknown): boolean =>
  error instanceof ParleyError && error.code === 'storage_unavailable' && error.retryable;

describe('the records of DynamoDB', () => {
  it('take a write whose answer was lost for written, and write it once', async (t) => {
    const { records, proxy } = await recordsMeeting(t, 'lose the answer', 'pass', 'lose the answer');
    const ref = sampleRef();
    const created = await records.create<Sample>({ ...ref, count: 0 }, token());
    assert.deepEqual([created.outcome, proxy.calls], ['written', ['PutItem', 'PutItem']]);
    const raised = await records.update(ref, { add: { count: 1 } }, token());
    assert.equal(raised.outcome, 'written');
    const after = await records.get(ref);
    assert.deepEqual([after?.count, after?.v], [1, 2]);
  });

  it('do not wait for ever for an answer, and write once what never had one', async (t) => {
    const { records, proxy } = await recordsMeeting(t, 'never answer');
    const ref = sampleRef();
    const created = await records.create<Sample>(ref, token());
    assert.deepEqual([created.outcome, proxy.calls.length], ['written', 2]);
    assert.equal((await records.get(ref))?.v, 1);
  });

  it('take a transaction whose answer was lost for written, and make it once', async (t) => {
    const { records } = await recordsMeeting(t, 'pass', 'lose the answer');
    const [counted, made] = [sampleRef(), sampleRef()];
    await records.create<Sample>({ ...counted, count: 0 }, token());
    const writes = [
      { kind: 'create', item: made },
      { kind: 'update', key: counted, change: { if: equals('count', 0), add: { count: 1 } } },
    ] as const;
    assert.deepEqual(await records.transact([...writes], token()), { outcome: 'written' });
    assert.equal((await records.get(counted))?.count, 1);
  });

  it('try again what is throttled, and lose nothing', async (t) => {
    const { records } = await recordsMeeting(t, THROTTLED, THROTTLED, 'pass', THROTTLED, 'pass', THROTTLED);
    const ref = sampleRef();
    assert.equal((await records.create<Sample>({ ...ref, n: 1 }, token())).outcome, 'written');
    assert.equal((await records.update(ref, { set: { n: 2 } }, token())).outcome, 'written');
    assert.equal((await records.get(ref))?.n, 2);
  });

  it('say that they are unavailable, and that it may work later, where throttling does not end', async (t) => {
    const { records } = await recordsMeeting(t, ...Array.from({ length: 20 }, () => THROTTLED));
    await assert.rejects(records.create<Sample>(sampleRef(), token()), isTold);
    await assert.rejects(records.get(sampleRef()), isTold);
  });

  it('say so too where the same transaction is still being made, or something before DynamoDB does not get through', async (t) => {
    const fates: Fate[] = [
      { status: 400, error: 'TransactionInProgressException' },
      { status: 502, error: 'BadGateway' },
    ];
    for (const fate of fates) {
      const { records } = await recordsMeeting(t, ...Array.from({ length: 4 }, () => fate));
      await assert.rejects(records.transact([{ kind: 'create', item: { ...sampleRef() } }], token()), isTold);
    }
    const noName = Object.assign(new Error('getaddrinfo EAI_AGAIN'), { code: 'EAI_AGAIN' });
    const noJson = Object.assign(new SyntaxError('Unexpected token <'), { $metadata: { httpStatusCode: 503 } });
    for (const failure of [noName, noJson]) await assert.rejects(mapAwsErrors(Promise.reject(failure)), isTold);
  });

  it('make a write again that a transaction was in the way of', async (t) => {
    const inTheWay: Fate = { status: 400, error: 'TransactionConflictException' };
    const { records } = await recordsMeeting(t, inTheWay, inTheWay);
    assert.equal((await records.create<Sample>(sampleRef(), token())).outcome, 'written');
  });

  it('make a transaction again that others were in the way of, and call it a conflict if they stay', async (t) => {
    const facts = { CancellationReasons: [{ Code: 'TransactionConflict' }] };
    const inTheWay: Fate = { status: 400, error: 'TransactionCanceledException', facts };
    const { records } = await recordsMeeting(
      t,
      inTheWay,
      inTheWay,
      'pass',
      ...Array.from({ length: 8 }, () => inTheWay),
    );
    const create = () => records.transact([{ kind: 'create', item: { ...sampleRef() } }], token());
    assert.deepEqual(await create(), { outcome: 'written' });
    await assert.rejects(create(), (error: unknown) => error instanceof ParleyError && error.code === 'conflict');
  });
});

describe('the lanes of SQS', () => {
  const lane = { project: 'p', kind: 'domain', name: 'security', priority: 'normal' } as const;
  const message = (body: string) => ({ queueKey: lane, group: body, dedupId: body, at: 0, body });

  const queuesMeeting = async (t: { after(end: () => unknown): void }, fateOf: () => Fate) => {
    services.queues.createQueue('p-security-normal.fifo', { attributes: { FifoQueue: 'true' } });
    const proxy = await faultyProxy(services.faux.endpoint, fateOf);
    const { sqs } = createAwsClients({ ...services.faux, endpoint: proxy.endpoint });
    const { dynamo } = createAwsClients(services.dynamo);
    t.after(async () => {
      sqs.destroy();
      dynamo.destroy();
      await proxy.close();
    });
    const records = createDynamoRecords(createDynamoTable(dynamo, TABLE, {}, systemClock));
    const lists = { records, clock: systemClock, newId: token };
    const urlPrefix = `${services.faux.endpoint}/000000000000/`;
    const lost: unknown[] = [];
    return {
      proxy,
      lost,
      queues: createAwsQueues(
        {
          sqs,
          urlPrefix,
          toSuffix: buildQueueSuffix,
          hasQueue: ({ name }) => name === 'security',
          onUndeliverable: ({ body }) => lost.push(body),
          clock: systemClock,
          newId: token,
        },
        lists,
        inspectQueues,
      ),
    };
  };

  it('share requests where many are sent at the same time, and each arrives', async (t) => {
    const { proxy, queues } = await queuesMeeting(t, () => 'pass');
    const sent = Array.from({ length: 30 }, () => token());
    await Promise.all(sent.map((body) => queues.send([message(body)])));
    assert.ok(proxy.calls.length <= 5, `${proxy.calls.length} requests`);
    const arrived = new Set<unknown>();
    while (arrived.size < sent.length) {
      const received = await queues.receive([lane], { max: 10, waitMs: 0, visibilityMs: 30_000 });
      for (const { body } of received) arrived.add(body);
      await queues.delete(received);
    }
    assert.deepEqual([...arrived].toSorted(), sent.toSorted());
  });

  it('drop what is for a lane that the deployment does not have, and say so', async (t) => {
    const { queues, lost } = await queuesMeeting(t, () => 'pass');
    const [gone, there] = [message('gone'), message(token())];
    await queues.send([{ ...gone, queueKey: { ...lane, name: 'gone' } }, there]);
    assert.deepEqual(lost, ['gone']);
    const lanes = [{ ...lane, name: 'gone' }, lane];
    const [received] = await queues.receive(lanes, { max: 1, waitMs: 0, visibilityMs: 30_000 });
    assert.equal(received?.body, there.body);
  });

  it('try again what is throttled, and tell those who sent it where that does not end', async (t) => {
    let refusals = 2;
    const throttled: Fate = { status: 400, error: 'ThrottlingException' };
    const { queues } = await queuesMeeting(t, () => (refusals-- > 0 ? throttled : 'pass'));
    await queues.send([message(token())]);
    refusals = Number.POSITIVE_INFINITY;
    const both = await Promise.allSettled([queues.send([message(token())]), queues.send([message(token())])]);
    assert.deepEqual(
      both.map((outcome) => outcome.status === 'rejected' && outcome.reason.code),
      ['storage_unavailable', 'storage_unavailable'],
    );
  });

  it('say that it may work later where the key that they are encrypted with is asked for too often', async (t) => {
    const { queues } = await queuesMeeting(t, () => ({ status: 400, error: 'KmsThrottled' }));
    await assert.rejects(queues.send([message(token())]), isTold);
    await assert.rejects(queues.receive([lane], { max: 1, waitMs: 0, visibilityMs: 30_000 }), isTold);
  });
});
