import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, describe, it } from 'node:test';
import { startServer, tempDir } from '../../test/support/server-process.ts';
import { EXIT } from '../command.ts';
import { parseLimits } from '../limit-argument.ts';
import { createRunner } from './run-parley.ts';

const OWNER = { after };
const server = await startServer(OWNER, { dir: tempDir(OWNER) });
const { parley, succeeds } = createRunner(tempDir(OWNER), {
  PARLEY_URL: server.address,
  PARLEY_KEY: server.adminKey,
});

describe('parley limits', () => {
  it('are set, shown, listed and removed, and what waits for them stands in its queue', async () => {
    const [capability, key] = [`c-${randomUUID().slice(0, 8)}`, `k-${randomUUID().slice(0, 8)}`];
    const worker = await server.agent(`w-${randomUUID().slice(0, 8)}`, {
      dialect: 'native',
      capabilities: [capability],
    });
    const send = ['send', capability, '{}', '--limit', `${key}=1,500/60`];
    const [one] = [(await succeeds(send)).trim(), await succeeds(send)];
    assert.equal((await worker.claim({ max: 10 }))[0].message.id, one);
    const shown = JSON.parse(await succeeds(['limits', 'get', key, '--json']));
    assert.partialDeepStrictEqual(shown, { key, source: 'tasks', running: 1, holders: [{ taskId: one }] });
    assert.match(await succeeds(['queues', '--capability', capability]), new RegExp(`${key} \\(concurrency\\): 1`));
    const set = JSON.parse(await succeeds(['limits', 'set', key, '--concurrency', '2', '--rate', '500/60', '--json']));
    assert.partialDeepStrictEqual(set, { concurrency: 2, rate: { starts: 500, seconds: 60 }, source: 'operator' });
    assert.match(await succeeds(['limits', 'list']), new RegExp(`^${key}\t2\t500/60s\t1\t`, 'm'));
    await succeeds(['limits', 'remove', key]);
    assert.equal(JSON.parse(await succeeds(['limits', 'get', key, '--json'])).source, 'tasks');
  });

  it('say what is wrong with a limit', async () => {
    assert.equal((await parley(['limits', 'set', 'oven'])).code, EXIT.usage);
    assert.equal((await parley(['limits', 'set', 'oven', '--rate', 'often'])).code, EXIT.usage);
    assert.equal((await parley(['send', 'cook', '{}', '--limit', 'oven=many'])).code, EXIT.usage);
    assert.deepEqual(parseLimits('a=1 b=2,3/4s c'), [
      { key: 'a', concurrency: 1 },
      { key: 'b', concurrency: 2, rate: { starts: 3, seconds: 4 } },
      { key: 'c' },
    ]);
  });
});
