import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { createUnkindReceives } from '../../local/cloudformation-runner/backends/unkind-receives.ts';
import type { AwsRequest } from '../../local/cloudformation-runner/gateway/aws-call.ts';
import { buildJsonResponse } from '../../local/cloudformation-runner/gateway/errors.ts';
import { Meter } from '../../local/cloudformation-runner/gateway/meter.ts';
import { createRouteThrottle } from '../../local/cloudformation-runner/http/token-bucket.ts';
import { invokeAsync } from '../../local/cloudformation-runner/lambda/invoke-async.ts';
import { createRandom } from '../../local/cloudformation-runner/random.ts';
import { TemplateError } from '../../local/cloudformation-runner/template-error.ts';
import { deployed, type SmallDeployment, wholeSuite } from './small-template.ts';

const SLEEPER = 'export const handler = ({ ms }) => new Promise((resolve) => setTimeout(resolve, ms));';
const HOARDER = "const all = []; export const handler = ({ mb }) => all.push(Buffer.alloc(mb * 1024 * 1024, 'x'));";

describe('an account', { concurrency: 1 }, () => {
  const owner = wholeSuite();
  let here: SmallDeployment;

  before(async () => {
    const functions = { one: { code: SLEEPER }, other: { code: SLEEPER }, hoarder: { code: HOARDER } };
    here = await deployed(owner, functions, {}, { accountConcurrency: 3 });
  });

  it('runs no more invocations at once than its concurrency, of all functions together', async () => {
    const running = ['one', 'one', 'other'].map((name) => here.invoke(name, { ms: 500 }));
    assert.equal((await here.invoke('other', { ms: 0 })).ok, 'throttled');
    assert.deepEqual(
      (await Promise.all(running)).map(({ ok }) => ok),
      [true, true, true],
    );
    assert.equal((await here.invoke('other', { ms: 0 })).ok, true);
    assert.equal(here.getHighestConcurrency(), 3);
  });

  it('with a concurrency of 10 reserves nothing', async () => {
    const reserving = { one: { code: SLEEPER, properties: { ReservedConcurrentExecutions: 1 } } };
    await assert.rejects(
      deployed(owner, reserving, {}, { accountConcurrency: 10 }),
      (error) =>
        error instanceof TemplateError && /of a concurrency of 10, 10 must stay unreserved/.test(error.message),
    );
  });

  it('ends a function whose process needs more than its memory, buffers too, and starts another', async () => {
    assert.equal((await here.invoke('hoarder', { mb: 1 })).ok, true);
    const ended = await here.invoke('hoarder', { mb: 90 });
    assert.ok(ended.ok === false && ended.errorType === 'Runtime.OutOfMemory', JSON.stringify(ended));
    assert.equal((await here.invoke('hoarder', { mb: 1 })).ok, true);
  });
});

describe('the meter', () => {
  it('sells CPU by memory, up to one core for a thread', () => {
    const meter = new Meter();
    meter.isOn = true;
    const took = { cpuMs: 100, durationMs: 150, memoryMb: 60, hasFailed: false };
    for (const memory of [256, 1769, 3538]) meter.recordInvocation(`${memory}`, memory, took);
    const [small, whole, large] = meter.read().invocations;
    assert.equal(Math.round(small?.durationMs ?? 0), Math.round(50 + (100 * 1769) / 256));
    assert.deepEqual([whole?.durationMs, large?.durationMs], [150, 150]);
    assert.equal(small?.cpuGbSeconds.toFixed(6), whole?.cpuGbSeconds.toFixed(6));
    assert.equal(large?.cpuGbSeconds, 2 * (whole?.cpuGbSeconds ?? 0));
  });
});

describe('the throttle of an HTTP API', () => {
  it('has a bucket for each route, from the default settings where it has none of its own', () => {
    const mayPass = createRouteThrottle(
      { ThrottlingBurstLimit: 2, ThrottlingRateLimit: 0.001 },
      { 'GET /own': { ThrottlingBurstLimit: 1, ThrottlingRateLimit: 0.001 } },
    );
    const calls = ['GET /a', 'GET /a', 'GET /a', 'GET /b', 'GET /own', 'GET /own'];
    assert.deepEqual(calls.map(mayPass), [true, true, false, true, true, false]);
  });
});

describe('an asynchronous invocation', () => {
  it('that is throttled waits, and spends no retry', async () => {
    const answers: ('throttled' | true)[] = ['throttled', 'throttled', true];
    let calls = 0;
    const invoke = async () => {
      const ok = answers[calls++] ?? true;
      return ok === 'throttled' ? { ok } : { ok, result: '' };
    };
    assert.equal(
      await invokeAsync({ invoke }, {}, { most: 0, ageMs: 60_000, firstPauseMs: 1 }, new AbortController().signal),
      true,
    );
    assert.equal(calls, 3);
  });
});

describe('the receives of a queue', () => {
  const MESSAGES = ['a1', 'a2', 'b1', 'b2', 'c1'].map((Body) => ({ Body, Attributes: { MessageGroupId: Body[0] } }));
  const receive = createUnkindReceives(async () => buildJsonResponse({ Messages: MESSAGES }), createRandom(7));
  const ask = async (body: object): Promise<{ Body: string; Attributes?: object }[]> => {
    const headers = { 'x-amz-target': 'AmazonSQS.ReceiveMessage' };
    const request: AwsRequest = { method: 'POST', path: '/', headers, body: Buffer.from(JSON.stringify(body)) };
    return JSON.parse((await receive(request)).body.toString()).Messages ?? [];
  };

  it('come back empty one time in four where they do not wait, and never where they do', async () => {
    const count = async (WaitTimeSeconds: number) => {
      let empty = 0;
      for (let polls = 0; polls < 400; polls++) if ((await ask({ WaitTimeSeconds })).length === 0) empty += 1;
      return empty;
    };
    const short = await count(0);
    assert.ok(short > 70 && short < 130, `${short} of 400`);
    assert.equal(await count(1), 0);
  });

  it('give groups in any order, and each group in its own', async () => {
    const orders = new Set<string>();
    for (let polls = 0; polls < 50; polls++) {
      const bodies = (await ask({ WaitTimeSeconds: 1 })).map(({ Body }) => Body);
      assert.deepEqual(bodies.toSorted(), ['a1', 'a2', 'b1', 'b2', 'c1']);
      assert.ok(bodies.indexOf('a1') < bodies.indexOf('a2') && bodies.indexOf('b1') < bodies.indexOf('b2'));
      orders.add(bodies.join());
    }
    assert.ok(orders.size > 3, `${orders.size} orders`);
  });

  it('tell the group only where somebody asked for it', async () => {
    assert.equal((await ask({ WaitTimeSeconds: 1 }))[0]?.Attributes, undefined);
    assert.ok((await ask({ WaitTimeSeconds: 1, MessageSystemAttributeNames: ['All'] }))[0]?.Attributes);
  });
});
