import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { describe, it } from 'node:test';
import { eventually } from '../../../test/support/eventually.ts';
import { address, agent, connectAgent, connectPair, run } from './agents.ts';

const STEPPING = resolve(import.meta.dirname, '../../../test/support/stepping/worker.ts');

describe('workers of one agent', () => {
  it('share its tasks, and each task is done once', async () => {
    const { capability, requester, parley } = await connectPair();
    const done: string[][] = [[], []];
    const bothWork = Promise.withResolvers<void>();
    for (const mine of done) {
      const worker = parley.worker({ concurrency: 2 });
      worker.on(capability, async (task) => {
        mine.push(task.id);
        if (done.every(({ length }) => length > 0)) bothWork.resolve();
        await bothWork.promise;
      });
      run(worker);
    }
    const handles = Array.from({ length: 40 }, () => requester.request(capability));
    await Promise.all(handles.map((handle) => handle.result()));
    assert.deepEqual(done.flat().toSorted(), handles.map(({ id }) => id).toSorted());
  });
});

describe('a worker that stops', () => {
  it('lets its handlers end, reports what they return, and takes nothing new', async () => {
    const { capability, requester, worker } = await connectPair();
    const finish = Promise.withResolvers<void>();
    worker.on(capability, async () => {
      await finish.promise;
      return 'finished';
    });
    run(worker);
    const handles = Array.from({ length: 4 }, () => requester.request(capability));
    await eventually(async () => {
      for (const handle of handles) assert.equal((await handle.status()).state, 'claimed');
    });
    const stopped = worker.stop();
    const late = requester.request(capability);
    await late.accepted;
    finish.resolve();
    await stopped;
    for (const handle of handles) {
      const { state, result, attempt } = await handle.status();
      assert.deepEqual([state, result, attempt], ['completed', 'finished', 1]);
    }
    assert.equal((await late.status()).state, 'requested');
  });

  it('does the same on SIGTERM, and its process ends without an error', async () => {
    const helper = await connectPair();
    const asked = Promise.withResolvers<void>();
    const finish = Promise.withResolvers<void>();
    helper.worker.on<number>(helper.capability, async ({ input }) => {
      asked.resolve();
      await finish.promise;
      return input * 2;
    });
    run(helper.worker);
    const capability = `terminated-${helper.capability}`;
    const { key } = await agent('terminated', { dialect: 'native', capabilities: [capability] });
    const { NODE_TEST_CONTEXT: _context, ...env } = process.env;
    const child = spawn(process.execPath, [STEPPING, capability, helper.capability, '/dev/null'], {
      env: { ...env, PARLEY_URL: address, PARLEY_KEY: key },
      stdio: 'inherit',
    });
    const exited = once(child, 'exit');
    const handle = (await connectAgent()).request(capability);
    const result = handle.result({ onQuestion: () => 3 });
    await asked.promise;
    child.kill('SIGTERM');
    finish.resolve();
    assert.deepEqual(await exited, [0, null]);
    assert.equal(await result, 7);
  });
});
