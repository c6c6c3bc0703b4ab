import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { bundleWaiter } from '../../waiter/bundle.ts';
import type { TestAgent } from '../support/api.ts';
import { tempDir } from '../support/server-process.ts';
import { runParley } from './running-parley.ts';

const OWNER = { after };
const bundle = await bundleWaiter(tempDir(OWNER));
const parley = await runParley(OWNER, {
  app: { file: 'test/aws/waiter-app/app.ts', out: '.cache/waiter-template' },
  template: { containers: { waiter: [process.execPath, bundle] } },
});
const { meter } = parley.gateway;

const WAIT_S = 20;
const serving = (domain: string, more: object = {}): Promise<TestAgent> =>
  parley.agent(`lance-${randomUUID()}`, { domains: [domain], ...more });

const takes = async (agent: TestAgent, body: object = {}) => {
  const { status, body: answer } = await agent.call('POST', '/v1/claims', { wait: WAIT_S, ...body });
  assert.equal(status, 200, JSON.stringify(answer));
  return answer.tasks;
};

/** Long enough for a call to arrive and to begin to wait. */
const waiting = async <T>(call: Promise<T>): Promise<() => Promise<T>> => {
  await pause(1500);
  return () => call;
};

describe('a deployment with a waiter', { concurrency: 1 }, () => {
  it('answers a waiting claim there, from the queue of a domain, of a capability and of the agent itself', async () => {
    const tim = await parley.agent(`tim-${randomUUID()}`, {});
    const lance = await serving('home', { capabilities: ['home.dinner'] });
    const requests = [
      { payload: { task: 'home.scene' } },
      { to: lance.id, payload: { task: 'home.scene' } },
      { payload: { task: 'home.dinner' } },
    ];
    for (const request of requests) {
      const claim = await waiting(takes(lance));
      const id = await tim.request(request);
      const [taken, ...more] = await claim();
      assert.deepEqual([taken?.message.id, more], [id, []]);
      await lance.complete(id);
    }
  });

  it('answers a waiting inbox call when a result comes', async () => {
    const [tim, lance] = [await parley.agent(`tim-${randomUUID()}`, {}), await serving('intel')];
    const id = await tim.request({ payload: { task: 'intel.weather' } });
    const inbox = await waiting(tim.inbox(WAIT_S));
    assert.equal((await takes(lance)).length, 1);
    await lance.complete(id);
    assert.equal((await inbox()).length, 1);
  });

  it('asks each queue once for all who wait, and invokes no function for them', async () => {
    const agents = await Promise.all(Array.from({ length: 8 }, () => serving('comms')));
    const calls = agents.flatMap((agent) => [takes(agent, { wait: 8 }), agent.inbox(8)]);
    await pause(2500);
    meter.reset();
    meter.isOn = true;
    await pause(5000);
    const { calls: counted, invocations } = meter.read();
    meter.isOn = false;
    await Promise.all(calls);
    const polls = counted.filter(({ operation, resource }) => operation === 'ReceiveMessage' && /comms/.test(resource));
    assert.ok(polls.reduce((sum, { calls }) => sum + calls, 0) <= 1, JSON.stringify(polls));
    const reads = counted.filter(({ caller, service }) => caller === 'waiter' && service === 'dynamodb');
    assert.ok(reads.reduce((sum, { calls }) => sum + calls, 0) <= 8 * 12, JSON.stringify(reads));
    assert.deepEqual(
      invocations.filter(({ functionName }) => functionName.endsWith('-claims')),
      [],
    );
  });

  it('refuses the waiter nothing that it asks of AWS', () => {
    assert.deepEqual(
      parley.trouble.filter((line) => line.includes('not authorized')),
      [],
    );
  });
});
