import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { eventually } from '../support/eventually.ts';
import { deployment } from './deployment.ts';

const { agent } = await deployment();

describe('a schedule', () => {
  it('is listed with its next times, and requests its task by a call, which comes twice as one', async () => {
    const [boss, worker] = [await agent('boss'), await agent('worker')];
    const path = `/v1/schedules/${boss.id}`;
    const task = { capability: 'security.briefing', to: worker.id, input: { scope: 'daily' } };
    const created = await boss.call('PUT', path, { cron: '0 6 * * 1-5', task });
    assert.deepEqual([created.status, created.body.nextRuns.length], [201, 5]);
    const headers = { 'idempotency-key': 'now' };
    const runs = [
      await boss.call('POST', `${path}/run`, undefined, headers),
      await boss.call('POST', `${path}/run`, undefined, headers),
    ];
    assert.equal(runs[0]?.status, 202, JSON.stringify(runs[0]?.body));
    assert.equal(runs[1]?.body.id, runs[0]?.body.id);
    const [{ message }] = await worker.claim({ wait: 20 });
    assert.equal(message.id, runs[0]?.body.id);
    await eventually(async () => {
      const { schedules } = (await boss.call('GET', '/v1/schedules')).body;
      assert.deepEqual(
        schedules.map(({ scheduleId }: { scheduleId: string }) => scheduleId),
        [boss.id],
      );
    }, 30_000);
    assert.equal((await boss.call('POST', `${path}/pause`)).body.status, 'paused');
    assert.equal((await boss.call('POST', `${path}/resume`)).body.status, 'active');
    assert.equal((await boss.call('DELETE', path)).status, 204);
    assert.equal((await boss.call('GET', path)).status, 404);
  });
});
