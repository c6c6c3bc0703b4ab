import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { TaskState } from '@a2a-js/sdk';
import { a2aClient, a2aMessage, taskOf } from '../support/a2a-client.ts';
import { callerWith, httpTransport, TestAgent } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { lastingPort, startServer, tempDir } from '../support/server-process.ts';

describe('A process that is killed between an A2A message and its answer', () => {
  it('has the task after its restart, once, whatever its client repeats', { timeout: 60_000 }, async (t) => {
    const options = { dir: tempDir(t), port: await lastingPort() };
    const first = await startServer(t, options);
    const asker = await first.agent('asker', { dialect: 'a2a' });
    const worker = await first.agent('worker');
    const client = await a2aClient(first.address, asker, 'worker');
    const message = a2aMessage();
    const lost = assert.rejects(client.sendMessage(message));
    await eventually(async () => assert.equal((await asker.call('GET', '/v1/tasks')).body.tasks.length, 1));
    await first.kill('SIGKILL');
    await lost;
    const second = await startServer(t, options);
    const transport = httpTransport(second.address);
    const again = new TestAgent('worker', worker.key, transport);
    const answered = client.sendMessage(message);
    const [claimed, ...more] = await again.claim({ max: 2, wait: 10 });
    assert.deepEqual(more, []);
    await again.complete(claimed.message.id);
    const task = taskOf(await answered);
    assert.deepEqual([task.id, task.status?.state], [claimed.message.id, TaskState.TASK_STATE_COMPLETED]);
    assert.equal(taskOf(await client.sendMessage(message)).id, task.id);
    const { tasks } = (await callerWith(transport, asker.key).call('GET', '/v1/tasks')).body;
    assert.equal(tasks.length, 1);
  });
});
