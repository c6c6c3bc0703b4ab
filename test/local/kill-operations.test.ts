import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { inTurns } from '../support/in-turns.ts';
import { tempDir } from '../support/server-process.ts';
import { RestartableServer } from './restartable-server.ts';

const TASKS = 1200;
const KILLS = 4;

describe('a process that is killed during a bulk operation', () => {
  it('cancels every task once, and counts each of them', { timeout: 120_000 }, async (t) => {
    const server = await RestartableServer.start(t, tempDir(t));
    const [arthur] = [await server.agent('arthur')];
    await inTurns(Array.from({ length: TASKS / 20 }), () =>
      Promise.all(Array.from({ length: 20 }, () => arthur.request())),
    );
    const filter = { requester: 'arthur' };
    const started = await arthur.call('POST', '/v1/tasks/cancel', { filter, reason: 'no more' });
    assert.equal(started.status, 202, JSON.stringify(started.body));
    const path = `/v1/operations/${started.body.operationId}`;
    const read = async () => (await server.insist(() => arthur.call('GET', path))).body;
    let seen = 0;
    for (let kills = 0; kills < KILLS; kills++) {
      await server.killAndRestart();
      const { changed, status } = await read();
      assert.ok(changed >= seen && (kills > 0 || status === 'running'), `${changed} after ${seen}, ${status}`);
      seen = changed;
    }
    const waitForEnd = () => server.insist(() => arthur.call('GET', `${path}?wait=25`));
    const { body } = await waitForEnd();
    assert.partialDeepStrictEqual(body, { status: 'completed', changed: TASKS, skipped: 0, failed: 0 });
    const { count } = (await arthur.call('GET', '/v1/tasks?status=requested&count=true')).body;
    assert.deepEqual(count, { value: 0, isExact: true });
    const events = await server.eventIdsByTask('task.cancelled');
    assert.equal(events.size, TASKS);
    for (const [id, ends] of events) assert.equal(ends.size, 1, id);
    assert.equal((await server.eventIds('operation.ended')).size, 1);
  });
});
