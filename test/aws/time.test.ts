import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import type { AwsCall } from '../../local/cloudformation-runner/index.ts';
import { healthRef } from '../../shared/identity/agents/agent.ts';
import type { TestAgent } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import config from './app/parley.config.ts';
import { broken, by, type Fault } from './faults.ts';
import { runParley } from './running-parley.ts';
import { storedItem, storedTask } from './stored-items.ts';

/** The sweep comes every 2 s instead of every minute. */
const parley = await runParley({ after }, { template: { scheduleMinuteMs: 2000 } });

/** What is due is done within its second; the rest is for a machine that is busy. */
const LATE_MS = 10_000;
const PATIENCE_MS = 30_000;
const { leaseMs } = config.tasks;

const assertOnTime = (happened: string | number, due: number): void => {
  const late = new Date(happened).getTime() - due;
  assert.ok(late >= 0 && late < LATE_MS, `${late} ms after its time`);
};

const pair = async (): Promise<[TestAgent, TestAgent]> => [
  await parley.agent(`tim-${randomUUID()}`, {}),
  await parley.agent(`galahad-${randomUUID()}`, {}),
];

const expires = async (): Promise<void> => {
  const [tim, galahad] = await pair();
  const id = await tim.request({ to: galahad.id, ttl: 2 });
  const task = await tim.task(id, 20);
  assert.equal(task.state, 'expired');
  assertOnTime(task.metadata.completedAt, new Date(task.createdAt).getTime() + 2000);
  assert.deepEqual(await galahad.claim({ wait: 1 }), []);
};

const losesItsLease = async (): Promise<void> => {
  const [tim, galahad] = await pair();
  const id = await tim.request({ to: galahad.id });
  const [first] = await galahad.claim({ wait: 10 });
  assert.equal(first.message.id, id);
  const released = await eventually(async () => {
    const task = await storedTask(parley, id);
    assert.equal(task.status?.S, 'requested');
    return task;
  }, leaseMs + PATIENCE_MS);
  assertOnTime(Number(released.queuedAt?.N), new Date(first.lease.until).getTime());
  const [second] = await galahad.claim({ wait: 20 });
  assert.deepEqual([second.message.id, second.attempt], [id, 2]);
  assert.equal((await galahad.complete(id)).status, 202);
};

const isTriedAgain = async (): Promise<void> => {
  const [tim, galahad] = await pair();
  const id = await tim.request({ to: galahad.id });
  await galahad.claim({ wait: 10 });
  assert.equal((await galahad.fail(id, { error: 'rate_limited', message: 'no', retryAfterSeconds: 3 })).status, 202);
  const { retryAt } = await tim.task(id);
  const [again] = await galahad.claim({ wait: 20 });
  assert.deepEqual([again.message.id, again.attempt], [id, 2]);
  assertOnTime((await tim.task(id)).metadata.startedAt, new Date(retryAt).getTime());
};

const heartbeat = (from: string) => ({
  id: randomUUID(),
  version: '1.0',
  type: 'heartbeat',
  from,
  timestamp: new Date().toISOString(),
  payload: { status: 'healthy', capabilities: ['security.briefing'] },
});

const fallsSilent = async (): Promise<void> => {
  const galahad = await parley.agent(`galahad-${randomUUID()}`);
  assert.equal((await galahad.send(heartbeat(galahad.id))).status, 202);
  const health = await eventually(async () => {
    const stored = await storedItem(parley, healthRef('default', galahad.id));
    assert.equal(stored.online?.BOOL, false);
    return stored;
  }, PATIENCE_MS);
  const { heartbeatMs, silentPeriods } = config.agents;
  assertOnTime(Number(health.at?.N), Number(health.lastSeen?.N) + heartbeatMs * silentPeriods);
  await eventually(async () => {
    const { body } = await parley.admin.call('GET', `/v1/agents/${galahad.id}`);
    assert.equal(body.health.online, false);
  });
};

const WAYS = {
  'the delay queue alone, while the sweep does not run': by('sweep'),
  'the sweep alone, while nothing else reaches the delay queue': (call: AwsCall) =>
    call.resource.endsWith('-delay') && by('dispatch', 'SendMessageBatch')(call),
};

for (const [way, isMeant] of Object.entries(WAYS)) {
  describe(`by ${way}`, { concurrency: true, timeout: 90_000 }, () => {
    let fault: Fault | undefined;
    before(() => {
      fault = broken(parley, isMeant);
    });
    after(() => {
      assert.ok(fault && fault.met > 0);
      fault.end();
    });
    it('a task that nobody claims expires on its second', expires);
    it('a task goes back to its queue when its lease is over', losesItsLease);
    it('a failed attempt is repeated when its pause is over', isTriedAgain);
    it('an agent that falls silent is offline', fallsSilent);
  });
}
