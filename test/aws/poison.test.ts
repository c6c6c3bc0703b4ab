import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, describe, it } from 'node:test';
import { z } from 'zod';
import { taskRef } from '../../shared/model/task.ts';
import { eventually } from '../support/eventually.ts';
import { isLong } from '../support/scale.ts';
import { broken, by } from './faults.ts';
import { runParley } from './running-parley.ts';

const parley = await runParley({ after }, { streamRetries: 3 });

const PATIENCE_MS = 60_000;
const Replayed = z.object({ replayed: z.number(), failed: z.number() });

const idsOf = (tasks: { message: { id: string } }[]): string[] => tasks.map(({ message }) => message.id);

/** What is in the failure bucket, as text. */
const given = async (): Promise<{ key: string; body: string }[]> => {
  const listing = await parley.s3('GET', `/${parley.failures}?list-type=2`);
  const keys = [...listing.matchAll(/<Key>([^<]+)<\/Key>/g)].map(([, key = '']) => key);
  return Promise.all(keys.map(async (key) => ({ key, body: await parley.s3('GET', `/${parley.failures}/${key}`) })));
};

const givenUp = (id: string): Promise<string> =>
  eventually(async () => {
    const found = (await given()).filter(({ body }) => body.includes(id));
    assert.equal(found.length, 1, parley.trouble.join('\n'));
    return found[0]?.key ?? '';
  }, PATIENCE_MS);

/** An item of a task with a field that cannot be read, written past everything. */
const poison = async (): Promise<string> => {
  const id = randomUUID();
  const { pk, sk } = taskRef('default', id);
  const item = { pk: { S: pk }, sk: { S: sk }, v: { N: '1' }, at: { N: '1' }, error: { S: 'this is no JSON' } };
  await parley.aws('dynamodb', 'PutItem', { TableName: parley.table, Item: item });
  return id;
};

/** As the stream brings it. */
const streamRecord = (id: string, image: object, ageS = 0) => {
  const { pk, sk } = taskRef('default', id);
  const Keys = { pk: { S: pk }, sk: { S: sk } };
  const ApproximateCreationDateTime = Math.floor(Date.now() / 1000) - ageS;
  return { dynamodb: { ApproximateCreationDateTime, Keys, NewImage: { ...image, ...Keys }, SequenceNumber: id } };
};

const poisonRecord = (ageS = 0) => streamRecord(randomUUID(), { v: { N: '1' }, error: { S: 'this is no JSON' } }, ageS);

const Stored = z.object({ Item: z.looseObject({}) });

/** Of a task that waits. */
const goodRecord = async () => {
  const tim = await parley.agent(`tim-${randomUUID()}`, {});
  const lance = await parley.agent(`lance-${randomUUID()}`, { domains: ['home'] });
  const id = await tim.request({ to: lance.id, payload: { task: 'home.status' } });
  const { pk, sk } = taskRef('default', id);
  const Key = { pk: { S: pk }, sk: { S: sk } };
  const { Item } = Stored.parse(await parley.aws('dynamodb', 'GetItem', { TableName: parley.table, Key }));
  return streamRecord(id, Item);
};

type StreamRecord = ReturnType<typeof streamRecord>;
const numbers = (records: StreamRecord[]) => records.map(({ dynamodb }) => dynamodb.SequenceNumber);

const dispatched = async (Records: StreamRecord[]): Promise<string[]> => {
  const Answer = z.object({ batchItemFailures: z.array(z.object({ itemIdentifier: z.string() })) });
  const { batchItemFailures } = Answer.parse(await parley.ask('dispatch', { Records }));
  return batchItemFailures.map(({ itemIdentifier }) => itemIdentifier);
};

const numbersIn = (body: string): string[] => numbers(JSON.parse(JSON.parse(body).payload).Records);

const putAside = async (name: string, Records: StreamRecord[]): Promise<void> => {
  await parley.s3('PUT', `/${parley.failures}/${name}`, JSON.stringify({ payload: JSON.stringify({ Records }) }));
};

const rewriteAsObject = async (key: string): Promise<void> => {
  const { payload, ...rest } = JSON.parse((await given()).find((object) => object.key === key)?.body ?? '');
  assert.equal(typeof payload, 'string');
  const body = JSON.stringify({ ...rest, payload: JSON.parse(payload) });
  await parley.s3('PUT', `/${parley.failures}/${key}`, body);
};

const BATCHES = [
  ['bors', 'as the text that AWS leaves', async () => {}],
  ['kay', 'as the object that LocalStack leaves', rewriteAsObject],
] as const;

describe('a record that cannot be carried out', { concurrency: 1 }, () => {
  it('ends in the failure bucket, and what comes after it is carried out', async () => {
    const [tim, lance] = [await parley.agent('tim', {}), await parley.agent('lance', { domains: ['home'] })];
    const bad = await poison();
    // Only the stream can queue these.
    const fault = broken(parley, by('ingest', 'SendMessageBatch'));
    const ids = await Promise.all(Array.from({ length: 8 }, () => tim.request({ payload: { task: 'home.status' } })));
    const claimed: string[] = [];
    await eventually(async () => {
      claimed.push(...idsOf(await lance.claim({ max: 10, wait: 2 })));
      assert.equal(claimed.length, 8);
    }, PATIENCE_MS);
    fault.end();
    assert.deepEqual(claimed.sort(), ids.sort());
    await Promise.all(claimed.map((id) => lance.complete(id)));
    await givenUp(bad);
  });

  it('stays in the bucket when it is played back and still cannot be carried out', async () => {
    const key = await givenUp(await poison());
    const outcome = Replayed.parse(await parley.ask('replay', { prefix: key }));
    assert.deepEqual(outcome, { replayed: 0, failed: 1 });
    assert.ok((await given()).some((object) => object.key === key));
  });

  it('is put aside alone, at once, where others of its batch are carried out', async () => {
    const [good, bad, last] = [await goodRecord(), poisonRecord(), await goodRecord()];
    assert.deepEqual(await dispatched([good, bad, last]), []);
    const [number = ''] = numbers([bad]);
    const objects = (await given()).filter(({ body }) => body.includes(number));
    assert.deepEqual(
      objects.map(({ body }) => numbersIn(body)),
      [[number]],
    );
  });

  it('comes again in its order for some minutes where none of its batch can be carried out, and then is put aside', async () => {
    const young = [poisonRecord(), poisonRecord()];
    assert.deepEqual(await dispatched(young), numbers(young).slice(0, 1));
    const old = [poisonRecord(310), poisonRecord(310)];
    assert.deepEqual(await dispatched(old), []);
    const bodies = (await given()).map(({ body }) => numbersIn(body));
    assert.ok(bodies.some((one) => one.join() === numbers(old).join()));
    assert.ok(!bodies.flat().some((number) => numbers(young).includes(number)));
  });

  it('comes again in its order for as long as what it needs is not there', async () => {
    const [first, second] = [await goodRecord(), await goodRecord()];
    const fault = broken(parley, by('dispatch', 'UpdateItem'));
    assert.deepEqual(await dispatched([first, second]), numbers([first]));
    fault.end();
    assert.deepEqual(await dispatched([first, second]), []);
  });

  it('stays alone of a batch that is played back', async () => {
    const [good, bad] = [await goodRecord(), poisonRecord()];
    await putAside('half', [good, bad]);
    assert.deepEqual(Replayed.parse(await parley.ask('replay', { prefix: 'half' })), { replayed: 0, failed: 1 });
    const [left] = (await given()).filter(({ key }) => key === 'half');
    assert.deepEqual(numbersIn(left?.body ?? ''), numbers([bad]));
  });

  it('is one of many that are played back in one go, object by object', async (t) => {
    const [OBJECTS, RECORDS] = isLong ? [100, 100] : [20, 20];
    const good = await goodRecord();
    for (let object = 0; object < OBJECTS; object++) {
      const records = Array.from({ length: RECORDS }, () => streamRecord(randomUUID(), good.dynamodb.NewImage));
      await putAside(`many/${object}`, records);
    }
    const begun = performance.now();
    const outcome = Replayed.parse(await parley.ask('replay', { prefix: 'many/' }));
    const perMinute = (OBJECTS * RECORDS * 60_000) / (performance.now() - begun);
    t.diagnostic(`${Math.round(perMinute)} records a minute on this machine`);
    assert.deepEqual(outcome, { replayed: OBJECTS, failed: 0 });
  });

  for (const [owner, form, rewrite] of BATCHES) {
    it(`is carried out when its batch is played back ${form}, after what broke it was mended, and leaves the bucket`, async () => {
      const [tim, bors] = [await parley.agent(`tim-${owner}`), await parley.agent(owner, { domains: ['home'] })];
      const isSend = (name: string) => by(name, 'SendMessageBatch');
      const fault = broken(parley, (call) => isSend('ingest')(call) || isSend('dispatch')(call));
      const id = await tim.request({ payload: { task: 'home.status' } });
      const key = await givenUp(id);
      fault.end();
      await rewrite(key);
      assert.deepEqual(await bors.claim({ wait: 1 }), []);
      const outcome = Replayed.parse(await parley.ask('replay', { prefix: key }));
      assert.deepEqual(outcome, { replayed: 1, failed: 0 });
      assert.ok(!(await given()).some((object) => object.key === key));
      assert.deepEqual(idsOf(await bors.claim({ wait: 10 })), [id]);
      assert.equal((await bors.complete(id)).status, 202);
    });
  }
});
