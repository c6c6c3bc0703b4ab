import assert from 'node:assert/strict';
import { readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { callerWith, type TestAgent, taskRequest } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { type Owner, runToEnd, startServer, tempDir } from '../support/server-process.ts';

const BACKUPS = 2;
/** Enough between two backups that SQLite commits, and that contents lie in files. */
const TASKS_BETWEEN = 50;
const TEXTS = ['x'.repeat(60), 'y'.repeat(9000), 'z'.repeat(200_000)];

interface Load {
  /** Every task that was accepted, with the size of its text. */
  accepted: Map<string, number>;
  completed: Set<string>;
  stop(): Promise<void>;
}

/** Requests and results, one after the other at several places at once, until it is stopped. */
const putUnderLoad = (requester: TestAgent, worker: TestAgent): Load => {
  const [accepted, completed] = [new Map<string, number>(), new Set<string>()];
  let isOver = false;
  const request = async (): Promise<void> => {
    for (let count = 0; !isOver; count++) {
      const text = TEXTS[count % TEXTS.length] ?? '';
      const message = taskRequest(requester.id, { payload: { params: { text } } });
      assert.equal((await requester.send(message)).status, 202);
      accepted.set(message.id, text.length);
    }
  };
  const work = async (): Promise<void> => {
    while (!isOver) {
      for (const { message } of await worker.claim({ max: 5, wait: 1 })) {
        assert.ok([200, 202].includes((await worker.complete(message.id)).status));
        completed.add(message.id);
      }
    }
  };
  const all = Promise.all([request(), request(), request(), work(), work()]);
  return {
    accepted,
    completed,
    stop: async () => {
      isOver = true;
      await all;
    },
  };
};

const backUp = async (owner: Owner, data: string, folder: string) => {
  const exit = await runToEnd(owner, ['backup', folder, '--data', data, '--json']);
  assert.equal(exit.code, 0, exit.stderr);
  return JSON.parse(exit.stdout);
};

const restore = async (owner: Owner, folder: string, data: string): Promise<void> => {
  const exit = await runToEnd(owner, ['restore', folder, '--data', data]);
  assert.equal(exit.code, 0, exit.stderr);
};

describe('npm run backup', () => {
  it('copies a server under load, so that a server on the copy has all that was acknowledged before', {
    timeout: 110_000,
  }, async (t) => {
    const [data, backups] = [tempDir(t), tempDir(t)];
    const server = await startServer(t, { dir: data });
    const [requester, worker] = [await server.agent('requester'), await server.agent('worker')];
    const load = putUnderLoad(requester, worker);
    const seen: { accepted: Map<string, number>; completed: Set<string> }[] = [];
    for (let number = 0; number < BACKUPS; number++) {
      await eventually(() => assert.ok(load.completed.size >= TASKS_BETWEEN * (number + 1)), 60_000);
      seen.push({ accepted: new Map(load.accepted), completed: new Set(load.completed) });
      const report = await backUp(t, data, join(backups, String(number)));
      assert.equal(report.isOnline, true);
      assert.ok(report.blobs > 0);
    }
    await load.stop();
    await server.stop();

    for (const [number, { accepted, completed }] of seen.entries()) {
      const restored = join(tempDir(t), 'restored');
      await restore(t, join(backups, String(number)), restored);
      assert.equal(statSync(restored).mode & 0o077, 0);
      const copy = await startServer(t, { dir: restored });
      assert.equal(copy.adminKey, server.adminKey);
      assert.equal(copy.stderr(), '');
      const waiting = [...accepted];
      const checkNext = async (): Promise<void> => {
        const [id = '', length] = waiting.pop() ?? [];
        if (id === '') return;
        const { status, body } = await copy.admin.call('GET', `/v1/tasks/${id}`);
        assert.equal(status, 200, `${id} is not in the backup`);
        assert.equal(body.payload.text?.length, length, `${id} lacks its input`);
        if (completed.has(id)) assert.equal(body.state, 'completed', id);
        await checkNext();
      };
      await Promise.all(Array.from({ length: 8 }, checkNext));
      const again = callerWith(copy.transport, worker.key);
      assert.equal((await again.call('GET', '/v1/domains')).status, 200);
      await copy.stop();
    }
  });

  it('copies a folder that no server uses, and a server on the copy goes on with what was begun', async (t) => {
    const data = tempDir(t);
    const server = await startServer(t, { dir: data });
    const [requester, worker] = [await server.agent('requester'), await server.agent('worker')];
    const id = await requester.request({ payload: { params: { text: TEXTS[2] } } });
    await server.stop();
    const folder = join(tempDir(t), 'backup');
    assert.equal((await backUp(t, data, folder)).isOnline, false);
    const restored = join(tempDir(t), 'restored');
    await restore(t, folder, restored);
    const copy = await startServer(t, { dir: restored });
    const sameWorker = await copy.admin.call('POST', `/v1/agents/${worker.id}/key`);
    const claimed = await callerWith(copy.transport, sameWorker.body.key).call('POST', '/v1/claims', { wait: 5 });
    assert.equal(claimed.body.tasks[0].message.id, id);
    await copy.stop();
  });

  it('changes nothing where it cannot be done, and says why in one line', async (t) => {
    const data = tempDir(t);
    const server = await startServer(t, { dir: data });
    await (await server.agent('requester')).request();
    const refuse = async (args: string[], reason: RegExp): Promise<void> => {
      const exit = await runToEnd(t, args);
      assert.equal(exit.code, 1);
      assert.equal(exit.stdout, '');
      assert.match(exit.stderr, /^parley: [^\n]+\n$/);
      assert.match(exit.stderr, reason);
    };
    const folder = join(tempDir(t), 'backup');
    await backUp(t, data, folder);
    await refuse(['backup', folder, '--data', data], /is there already/);
    await refuse(['backup', join(tempDir(t), 'b'), '--data', tempDir(t)], /holds no storage.*--data/);
    await refuse(['backup'], /takes one folder/);
    await refuse(['restore', folder, '--data', data], /is there already/);
    await refuse(['restore', data, '--data', join(tempDir(t), 'new')], /is no backup/);
    await server.stop();
    rmSync(join(folder, 'parley.db-log-0'));
    const target = join(tempDir(t), 'new');
    await refuse(['restore', folder, '--data', target], /is not whole: parley\.db-log-0/);
    assert.deepEqual(
      readdirSync(join(target, '..')).filter((name) => name.startsWith('new')),
      [],
    );
  });
});
