import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { BoundedAdmission } from '../../local/bounded-admission.ts';
import config from '../../parley.config.ts';
import type { HttpRequest } from '../../shared/http/http-message.ts';
import type { Ports } from '../../shared/ports/ports.ts';
import { type Reply, type TestAgent, taskRequest } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { testParley } from '../support/test-parley.ts';

const LIMITS = { requests: 16, requestsPerKey: 8, bytes: 32_000, bytesPerKey: 16_000 };
const limited = { ...config, limits: { ...config.limits, inFlight: LIMITS } };

/** Parley on a disk that takes nothing until it is let go on. */
const stalled = async (t: TestContext) => {
  let going: PromiseWithResolvers<void> | undefined;
  const through = (ports: Ports): Ports => {
    const { records } = ports;
    const late =
      <A extends unknown[], R>(write: (...args: A) => Promise<R>) =>
      async (...args: A): Promise<R> => {
        await going?.promise;
        return write(...args);
      };
    return { ...ports, records: { ...records, create: late(records.create), transact: late(records.transact) } };
  };
  const system = await testParley(t, { config: limited, wrapPorts: through });
  t.after(() => going?.resolve());
  return {
    ...system,
    stall: () => {
      going = Promise.withResolvers();
    },
    goOn: () => going?.resolve(),
  };
};

const isRefused = (reply: Reply, status: number, code: string): void => {
  assert.deepEqual([reply.status, reply.body.code, reply.body.retryable], [status, code, true]);
  assert.equal(reply.headers['content-type'], 'application/problem+json');
  assert.match(reply.headers['retry-after'] ?? '', /^[1-9]\d*$/);
};

const statuses = async (replies: Promise<Reply>[]): Promise<number[]> =>
  (await Promise.all(replies)).map(({ status }) => status);

describe('requests in flight', () => {
  it('rejects requests beyond the limit of a key with 429 and Retry-After', async (t) => {
    const { agent, stall, goOn } = await stalled(t);
    const greedy = await agent('greedy');
    stall();
    const message = taskRequest('greedy');
    const admitted = Array.from({ length: 8 }, () => greedy.send(taskRequest('greedy')));
    isRefused(await greedy.send(message), 429, 'too_many_in_flight');
    goOn();
    assert.deepEqual(await statuses(admitted), Array(8).fill(202));
    assert.equal((await greedy.send(message)).status, 202);
  });

  it('accepts a request of one key while other keys exceed the limits', async (t) => {
    const { agent, stall, goOn } = await stalled(t);
    const names = ['a', 'b', 'c', 'd'];
    const greedy = await Promise.all(names.map((name) => agent(name)));
    const modest = await agent('modest');
    stall();
    const flood = greedy.flatMap((one) => Array.from({ length: 20 }, () => one.send(taskRequest(one.id))));
    const accepted = modest.send(taskRequest('modest'));
    goOn();
    assert.equal((await accepted).status, 202);
    const told = await statuses(flood);
    assert.ok(told.includes(202) && told.includes(503));
    assert.deepEqual([...new Set(told)].toSorted(), [202, 429, 503]);
  });

  it('rejects requests beyond the total limit with 503 before it reads key or body', async (t) => {
    const { agent, stall, goOn, parley } = await stalled(t);
    const many: TestAgent[] = [];
    for (let n = 0; n < 16; n++) many.push(await agent(`agent-${n}`));
    stall();
    const admitted = many.map((one) => one.send(taskRequest(one.id)));
    let hasRead = false;
    const readBody = async (): Promise<Uint8Array> => {
      hasRead = true;
      return new Uint8Array();
    };
    const headers = { authorization: 'Bearer nobody-knows-this-key' };
    const request = { method: 'POST', path: '/v1/messages', query: '', headers, readBody };
    await eventually(async () => {
      const { status, body } = await parley.handle(request);
      assert.deepEqual([status, JSON.parse(String(body)).code, hasRead], [503, 'overloaded', false]);
    });
    const health = { method: 'GET', path: '/healthz', query: '', headers: {}, readBody };
    assert.equal((await parley.handle(health)).status, 200);
    goOn();
    assert.deepEqual(await statuses(admitted), Array(16).fill(202));
  });

  it('does not count calls while they wait', async (t) => {
    const { agent } = await stalled(t);
    const [patient, other] = [await agent('patient'), await agent('other', { capabilities: [] })];
    const claims: ReturnType<TestAgent['claim']>[] = [];
    const reads: ReturnType<TestAgent['inbox']>[] = [];
    for (let n = 0; n < 40; n++) {
      claims.push(patient.claim({ wait: 20 }));
      reads.push(other.inbox(20));
      // Whatever this one waits for, those before it have come to their wait.
      await Promise.all([patient.inbox(), other.inbox()]);
    }
    const ids: string[] = [];
    for (let n = 0; n < 8; n++) ids.push(await other.request());
    const claimed = await Promise.race(claims);
    assert.ok(ids.includes(claimed[0].message.id));
    await patient.complete(claimed[0].message.id);
    const [outcome] = await Promise.race(reads);
    assert.equal(outcome.correlationId, claimed[0].message.id);
  });

  it('limits the bytes of all bodies in flight and does not read a body beyond that', async () => {
    const admission = new BoundedAdmission(LIMITS, () => {});
    const sent = Promise.withResolvers<Uint8Array>();
    let read = 0;
    const requestOf = (headers: HttpRequest['headers']): HttpRequest => ({
      method: 'POST',
      path: '/',
      query: '',
      headers,
      readBody: () => {
        read += 1;
        return sent.promise;
      },
    });
    const send = (key: string, headers: HttpRequest['headers']) =>
      admission.run(key, requestOf(headers), (request) => request.readBody(15_000));
    const first = send('a', { 'content-length': '9000' });
    const code = (expected: string) => ({ code: expected, retryable: true });
    await assert.rejects(send('a', { 'content-length': '9000' }), code('too_many_in_flight'));
    await assert.rejects(send('a', { 'transfer-encoding': 'chunked' }), code('too_many_in_flight'));
    const second = send('b', { 'transfer-encoding': 'chunked' });
    await assert.rejects(send('c', { 'content-length': '9000' }), code('overloaded'));
    assert.deepEqual([read, admission.inFlight], [2, { requests: 2, bytes: 24_000 }]);
    sent.resolve(new Uint8Array());
    await Promise.all([first, second]);
    assert.deepEqual(admission.inFlight, { requests: 0, bytes: 0 });
  });

  it('counts a call again after its wait and releases it when it fails', async () => {
    const admission = new BoundedAdmission(LIMITS, () => {});
    const [waited, worked] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const request: HttpRequest = {
      method: '',
      path: '',
      query: '',
      headers: {},
      readBody: async () => new Uint8Array(),
    };
    const run = admission.run('a', request, async () => {
      await admission.releaseWhileWaiting(() => waited.promise);
      await worked.promise;
      throw new Error('broken');
    });
    assert.equal(admission.inFlight.requests, 0);
    waited.resolve();
    await eventually(() => assert.equal(admission.inFlight.requests, 1));
    worked.resolve();
    await assert.rejects(run, /broken/);
    assert.equal(admission.inFlight.requests, 0);
  });

  it('logs rejected requests once per minute', async (t) => {
    const { agent, stall, goOn, logged } = await stalled(t);
    const greedy = await agent('greedy');
    stall();
    const all = Array.from({ length: 100 }, () => greedy.send(taskRequest('greedy')));
    goOn();
    const told = await statuses(all);
    assert.equal(told.filter((status) => status === 429).length, 92);
    assert.deepEqual(
      logged.filter((line) => line.includes('overload')),
      ['warn overload: requests rejected'],
    );
  });
});
