import assert from 'node:assert/strict';
import { closeSync, openSync, readFileSync, statSync, writeFileSync, writeSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, it, type TestContext } from 'node:test';
import { formatStartupError } from '../../local/startup-errors.ts';
import { ADMIN_OWNER, generateKey } from '../../shared/identity/auth/keys.ts';
import { type Exit, lastingPort, type Owner, runToEnd, startServer, tempDir } from '../support/server-process.ts';

/** The one line that a person reads, after seeing that there is nothing else. */
const onlyLineOf = ({ code, stderr }: Exit): string => {
  assert.equal(code, 1);
  assert.match(stderr, /^parley: [^\n]+\.\n$/);
  return stderr.trim();
};

const refusal = async (owner: Owner, dir: string, port = 0): Promise<string> => {
  const exit = await runToEnd(owner, ['--port', String(port), '--data', dir]);
  assert.equal(exit.stdout, '');
  return onlyLineOf(exit);
};

const usedPort = async (owner: Owner): Promise<number> => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  owner.after(() => server.close());
  const address = server.address();
  assert.ok(address && typeof address === 'object');
  return address.port;
};

describe('a start that cannot succeed says why in one line', { concurrency: 2 }, () => {
  it('on a port that is in use', async (t) => {
    const port = await usedPort(t);
    assert.match(await refusal(t, tempDir(t), port), new RegExp(`Port ${port} is in use.*--port`));
  });

  it('on a port or a folder that needs more rights, whichever it is', () => {
    const denied = (syscall: string) => Object.assign(new Error('permission denied'), { code: 'EACCES', syscall });
    const options = { dir: '/var/lib/parley', port: 80 };
    assert.match(formatStartupError(denied('listen'), options), /^Port 80 needs more rights.*--port/);
    assert.match(formatStartupError(denied('mkdir'), options), /^\/var\/lib\/parley cannot be written to.*--data/);
  });

  it('with an admin key that is the key of somebody else, which would open nothing', async (t) => {
    for (const key of [generateKey('default', 'galahad'), generateKey('camelot', ADMIN_OWNER)]) {
      const args = ['--port', '0', '--data', tempDir(t)];
      const line = onlyLineOf(await runToEnd(t, args, { env: { PARLEY_ADMIN_KEY: key } }));
      assert.match(line, /PARLEY_ADMIN_KEY is a key of (galahad in the project default|@admin in the project camelot)/);
    }
  });

  it('on a folder that another Parley uses, which goes on undisturbed', async (t) => {
    const dir = tempDir(t);
    const first = await startServer(t, { dir });
    assert.match(await refusal(t, dir), /Another Parley is using .*--data/);
    const tim = await first.agent('tim');
    assert.equal((await tim.task(await tim.request())).state, 'requested');
  });

  it('on a folder below a file', async (t) => {
    const file = join(tempDir(t), 'file');
    writeFileSync(file, '');
    assert.match(await refusal(t, join(file, 'sub')), /is not a folder.*--data/);
    assert.match(await refusal(t, file), /is not a folder.*--data/);
  });

  for (const dir of ['/sys/parley', '/proc/parley/data']) {
    it(`on a file system that takes no files, ${dir}`, async (t) => {
      assert.match(await refusal(t, dir), /cannot be written to.*--data/);
    });
  }

  it('on a file that is no database, and leaves it as it was', async (t) => {
    const dir = tempDir(t);
    const garbage = Buffer.from('These are the notes of somebody else. '.repeat(1000));
    writeFileSync(join(dir, 'parley.db'), garbage);
    assert.match(await refusal(t, dir), /damaged.*backup.*--data/);
    assert.deepEqual(readFileSync(join(dir, 'parley.db')), garbage);
  });

  for (const [format, says] of [
    [99, /a newer version .*format 99.* Update Parley.*--data/],
    [1, /an older version .*format 1.* Go on with that version.*--data/],
  ] as const) {
    it(`on a database of the format ${format}, and leaves it as it was`, async (t) => {
      const dir = tempDir(t);
      const file = join(dir, 'parley.db');
      const other = new DatabaseSync(file);
      other.exec(`CREATE TABLE unheard_of (x); PRAGMA user_version = ${format}`);
      other.close();
      const before = readFileSync(file);
      assert.match(await refusal(t, dir), says);
      assert.deepEqual(readFileSync(file), before);
    });
  }

  it('on a folder whose admin key is gone from its file', async (t) => {
    const dir = tempDir(t);
    writeFileSync(join(dir, 'admin-key'), '');
    assert.match(await refusal(t, dir), /admin-key holds no key.*[Dd]elete/);
  });
});

describe('a damaged database', () => {
  it('is told of in one line where the start meets the damage', async (t) => {
    const { dir } = await usedFolder(t);
    const { size } = statSync(join(dir, 'parley.db'));
    // The first pages tell what the file is; what follows is data.
    overwrite(join(dir, 'parley.db'), 16_384, size - 16_384);
    assert.match(await refusal(t, dir), /damaged.*backup.*--data/);
  });

  it('is told of in one line when a call meets the damage, and nothing is served from it any more', async (t) => {
    const { dir, port, tim, ids } = await usedFolder(t);
    const { start, size } = dataPage(join(dir, 'parley.db'));
    overwrite(join(dir, 'parley.db'), start, size);
    const server = await startServer(t, { dir, port });
    for (const id of ids) {
      const reply = await tim.call('GET', `/v1/tasks/${id}`).catch(() => undefined);
      if (!reply) break;
      assert.ok(reply.status === 200 || reply.body.code === 'storage_unavailable', JSON.stringify(reply.body));
      if (reply.status !== 200) break;
    }
    const next = await Promise.race([server.exited, server.transport('GET', '/healthz', {}, undefined)]).catch(
      () => server.exited,
    );
    assert.ok('code' in next, 'it goes on with a damaged database');
    assert.match(onlyLineOf(next), /damaged.*backup.*--data/);
  });
});

/** A folder with some hundred tasks in it that nobody uses any more. */
const usedFolder = async (t: TestContext) => {
  const dir = tempDir(t);
  const server = await startServer(t, { dir, port: await lastingPort() });
  const tim = await server.agent('tim');
  const ids: string[] = [];
  // A key may have 128 requests in flight.
  while (ids.length < 200) {
    const requests = Array.from({ length: 100 }, () =>
      tim.request({ payload: { params: { text: 'x'.repeat(2000) } } }),
    );
    ids.push(...(await Promise.all(requests)));
  }
  await server.stop();
  return { dir, port: server.port, tim, ids };
};

/** A page in the middle of the file with nothing but records on it. */
const dataPage = (file: string): { start: number; size: number } => {
  const db = new DatabaseSync(file, { readOnly: true });
  const pages = db.prepare("SELECT pgoffset, pgsize FROM dbstat WHERE name = 'records' AND pagetype = 'leaf'").all();
  db.close();
  const page = pages[Math.floor(pages.length / 2)];
  return { start: Number(page?.pgoffset), size: Number(page?.pgsize) };
};

const overwrite = (file: string, from: number, bytes: number): void => {
  const descriptor = openSync(file, 'r+');
  writeSync(descriptor, Buffer.alloc(bytes, 0xa5), 0, bytes, from);
  closeSync(descriptor);
};
