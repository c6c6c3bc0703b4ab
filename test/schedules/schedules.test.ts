import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ParleyError } from '../../shared/kernel/errors.ts';
import type { Ports } from '../../shared/ports/ports.ts';
import { findNextRun, listNextRuns, parseCron } from '../../shared/workflows/schedules/cron.ts';
import { assertRefused, settled } from '../http/refusal.ts';
import type { Caller, TestAgent } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { type TestParley, testParley } from '../support/test-parley.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
const TASK = { capability: 'security.briefing', input: { scope: 'daily' } };

const runsOf = (cron: string, after: string, count: number): string[] =>
  listNextRuns(parseCron(cron), Date.parse(after), count).map((at) => new Date(at).toISOString().slice(0, 16));

const put = async (caller: Caller, body: object, id = 'daily'): Promise<void> => {
  const reply = await caller.call('PUT', `/v1/schedules/${id}`, { task: TASK, ...body });
  assert.ok([200, 201].includes(reply.status), JSON.stringify(reply.body));
};

// biome-ignore lint/suspicious/noExplicitAny: as in Reply
const read = async (caller: Caller, id = 'daily'): Promise<any> =>
  (await caller.call('GET', `/v1/schedules/${id}`)).body;

const countTasks = async ({ admin }: TestParley): Promise<number> =>
  (await admin.call('GET', '/v1/tasks?count=true&type=security.briefing&requester=boss')).body.count.value;

const hasRun = (caller: Caller, runs: number) => eventually(async () => assert.equal((await read(caller)).runs, runs));

/** Each minute by itself, as a clock goes. */
const passMinutes = async (parley: TestParley, minutes: number, caller: Caller, runs: number): Promise<void> => {
  for (let minute = 0; minute < minutes; minute++) {
    parley.clock.advance(MINUTE_MS);
    await hasRun(caller, runs + minute);
  }
};

describe('a cron expression', () => {
  it('names the times of its five fields in UTC', () => {
    const from = '2026-03-01T12:00:00Z';
    assert.deepEqual(runsOf('*/20 * * * *', from, 3), ['2026-03-01T12:20', '2026-03-01T12:40', '2026-03-01T13:00']);
    assert.deepEqual(runsOf('30 6 * * 1-5', from, 2), ['2026-03-02T06:30', '2026-03-03T06:30']);
    assert.deepEqual(runsOf('0 0 13 * 5', from, 3), ['2026-03-06T00:00', '2026-03-13T00:00', '2026-03-20T00:00']);
    assert.deepEqual(runsOf('0 0 1,15 */6 *', from, 2), ['2026-07-01T00:00', '2026-07-15T00:00']);
    assert.deepEqual(runsOf('0 0 29 2 *', from, 1), ['2028-02-29T00:00']);
    assert.deepEqual(runsOf('5 4 * * 7', from, 1), ['2026-03-08T04:05']);
    assert.equal(findNextRun(parseCron('0 0 31 2 *'), Date.parse(from)), undefined);
    for (const wrong of [
      '',
      '* * * *',
      '60 * * * *',
      '* 24 * * *',
      '* * 0 * *',
      '* * * 13 *',
      '* * * * 8',
      '5-1 * * * *',
      '*/0 * * * *',
      'a * * * *',
    ])
      assert.throws(() => parseCron(wrong), { code: 'invalid_request' }, wrong);
  });
});

describe('a schedule', () => {
  it('requests a task at each of its times, once, also across restarts', async (t) => {
    const parley = await testParley(t);
    const [boss, worker] = [await parley.agent('boss'), await parley.agent('worker')];
    await put(boss, { cron: '* * * * *' });
    assert.equal((await read(boss)).nextRuns.length, 5);
    await passMinutes(parley, 3, boss, 1);
    await parley.restart();
    await passMinutes(parley, 2, boss, 4);
    assert.equal(await countTasks(parley), 5);
    const { lastTaskId, lastRunAt } = await read(boss);
    assert.equal(lastRunAt, new Date(parley.clock.now()).toISOString());
    const task = await boss.task(lastTaskId);
    assert.partialDeepStrictEqual(task, { from: 'boss', type: 'security.briefing', payload: { scope: 'daily' } });
    assert.equal((await worker.claim({ max: 10 })).length, 5);
  });

  it('creates no second task if a crash comes between a task and its record', async (t) => {
    let failures = 0;
    const wrapPorts = (ports: Ports): Ports => ({
      ...ports,
      records: {
        ...ports.records,
        update: (ref, change, ...more) => {
          if (ref.pk.includes('#schedule#') && change.add?.runCount && failures++ < 2)
            throw new ParleyError('conflict', 'as the test wanted it');
          return ports.records.update(ref, change, ...more);
        },
      },
    });
    const parley = await testParley(t, { wrapPorts });
    const boss = await parley.agent('boss');
    await parley.agent('worker');
    await put(boss, { cron: '0 * * * *' });
    parley.clock.advance(60 * MINUTE_MS);
    await eventually(async () => {
      parley.clock.advance(100);
      assert.equal((await read(boss)).runs, 1);
    });
    assert.equal(failures, 3);
    assert.equal(await countTasks(parley), 1);
  });

  for (const [missed, runs, skipped] of [
    ['skip', 0, 1],
    ['once', 1, 0],
    ['all', 3, 0],
  ] as const) {
    it(`makes up for runs that an outage swallowed as it is told to: ${missed}`, async (t) => {
      const parley = await testParley(t);
      const boss = await parley.agent('boss');
      await parley.agent('worker');
      await put(boss, { cron: '0 6 * * *', missed });
      const { parley: running } = parley;
      await running.stop();
      parley.clock.advance(3 * DAY_MS);
      await parley.restart();
      await eventually(async () => {
        parley.clock.advance(10);
        const schedule = await read(boss);
        assert.deepEqual([schedule.runs, schedule.skipped], [runs, skipped]);
        assert.ok(Date.parse(schedule.nextRuns[0]) > parley.clock.now());
      });
      assert.equal(await countTasks(parley), runs);
    });
  }

  it('is paused, resumed, run now, replaced and removed by a call', async (t) => {
    const parley = await testParley(t);
    const { admin, clock } = parley;
    const boss = await parley.agent('boss');
    await parley.agent('worker');
    await put(boss, { cron: '0 * * * *' });
    const call = (verb: string) => boss.call('POST', `/v1/schedules/daily/${verb}`);
    assert.partialDeepStrictEqual((await call('pause')).body, { status: 'paused', nextRuns: [] });
    clock.advance(3 * DAY_MS);
    await settled(parley);
    assert.equal(await countTasks(parley), 0);
    assert.equal((await call('resume')).body.status, 'active');
    await settled(parley);
    assert.equal(await countTasks(parley), 0);
    const now = await call('run');
    assert.partialDeepStrictEqual([now.status, now.body.from, now.body.state], [202, 'boss', 'requested']);
    assert.equal(await countTasks(parley), 1);
    await put(boss, { cron: '30 * * * *' });
    const { schedules, count } = (await admin.call('GET', '/v1/schedules?count=true&status=active')).body;
    assert.deepEqual([schedules[0].cron, count.value], ['30 * * * *', 1]);
    clock.advance(60 * MINUTE_MS);
    await hasRun(boss, 1);
    assert.equal((await boss.call('DELETE', '/v1/schedules/daily')).status, 204);
    clock.advance(3 * DAY_MS);
    await settled(parley);
    assert.equal(await countTasks(parley), 2);
    assert.equal((await boss.call('GET', '/v1/schedules/daily')).status, 404);
  });

  it('is seen and changed by its requester and admin keys alone, and refused if no task could come of it', async (t) => {
    const parley = await testParley(t);
    const [boss, other]: TestAgent[] = [await parley.agent('boss'), await parley.agent('other')];
    assert.ok(boss && other);
    await put(boss, { cron: '0 * * * *' });
    for (const [method, path] of [
      ['GET', ''],
      ['POST', '/pause'],
      ['POST', '/run'],
      ['DELETE', ''],
    ] as const)
      assertRefused(await other.call(method, `/v1/schedules/daily${path}`), 404, 'not_found');
    assertRefused(await other.call('PUT', '/v1/schedules/daily', { cron: '0 * * * *', task: TASK }), 404, 'not_found');
    assert.deepEqual((await other.call('GET', '/v1/schedules')).body.schedules, []);
    const wrong = async (body: object) => boss.call('PUT', '/v1/schedules/new', body);
    assertRefused(await wrong({ cron: '61 * * * *', task: TASK }), 400, 'invalid_request');
    assertRefused(await wrong({ cron: '0 0 31 2 *', task: TASK }), 400, 'invalid_request');
    assertRefused(await wrong({ cron: '0 * * * *', task: { input: 1 } }), 400, 'invalid_request');
    assertRefused(await wrong({ cron: '0 * * * *', task: { ...TASK, to: 'nobody' } }), 422, 'unknown_agent');
    assert.equal((await boss.call('GET', '/v1/schedules/new')).status, 404);
  });
});
