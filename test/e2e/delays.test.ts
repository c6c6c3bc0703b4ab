import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { deployment } from './deployment.ts';

const { agent } = await deployment();

describe('a task with a start time', () => {
  it('reaches a waiting worker when that time has come, and not before', async () => {
    const [tim, galahad] = [await agent('tim'), await agent('galahad')];
    const start = Date.now() + 3000;
    const id = await tim.request({ to: galahad.id, notBefore: new Date(start).toISOString() });
    assert.deepEqual(await galahad.claim(), []);
    const [{ message }] = await galahad.claim({ wait: 20 });
    assert.deepEqual([message.id, Date.now() >= start], [id, true]);
    assert.equal((await galahad.complete(id)).status, 202);
    assert.equal((await tim.task(id, 20)).state, 'completed');
  });
});
