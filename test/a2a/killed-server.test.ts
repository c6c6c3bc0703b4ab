import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { eventually } from '../support/eventually.ts';
import { atEndOf } from '../support/server-process.ts';
import { testParley } from '../support/test-parley.ts';
import { outboundConfig } from '../support/webhook-receiver.ts';

const startAgent = async (t: TestContext, env: Record<string, string>) => {
  const child = spawn(process.execPath, [resolve('test/support/a2a-server-process.ts')], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  atEndOf(t, () => child.kill('SIGKILL'));
  const [url] = await once(child.stdout, 'data');
  return { child, url: String(url).trim() };
};

describe('An A2A server that is killed in the middle of a task', () => {
  it('has forgotten it, and does the next attempt when it is back: the task ends once', async (t) => {
    const parley = await testParley(t, { config: outboundConfig });
    const asker = await parley.agent('asker');
    const register = (url: string) =>
      parley.admin.call('PUT', '/v1/agents/remote', { dialect: 'a2a', transport: 'a2a', url });
    const until = (id: string, state: string) =>
      eventually(async () => {
        const task = await asker.task(id);
        if (task.state !== state) parley.clock.advance(1000);
        assert.equal(task.state, state, JSON.stringify(task));
        return task;
      }, 30_000);
    const first = await startAgent(t, {});
    assert.equal((await register(first.url)).status, 201);
    const id = await asker.request({ to: 'remote' });
    await until(id, 'in_progress');
    first.child.kill('SIGKILL');
    await once(first.child, 'close');
    const second = await startAgent(t, { ANSWERS: 'yes' });
    assert.equal((await register(second.url)).status, 200);
    const task = await until(id, 'completed');
    assert.equal(task.result, 'Done after all.');
    const { body } = await parley.admin.call('GET', `/v1/events?task=${id}&type=task.*&limit=500`);
    const types: string[] = body.events.map(({ type }: { type: string }) => type);
    assert.deepEqual(
      types.filter((type) => type !== 'task.progress'),
      ['task.requested', 'task.claimed', 'task.retrying', 'task.claimed', 'task.completed'],
    );
  });
});
