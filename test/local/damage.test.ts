import assert from 'node:assert/strict';
import {
  closeSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { eventually } from '../support/eventually.ts';
import {
  type Exit,
  lastingPort,
  runToEnd,
  type ServerProcess,
  startServer,
  tempDir,
} from '../support/server-process.ts';

const refusalOf = async (t: TestContext, dir: string): Promise<Exit> => {
  const exit = await runToEnd(t, ['--port', '0', '--data', dir, '--nats', 'off']);
  assert.equal(exit.code, 1);
  assert.match(exit.stderr, /^parley: The storage in [^\n]* is damaged: [^\n]*--accept-damage[^\n]*\.\n$/);
  return exit;
};

const overwrite = (file: string, at: number, bytes: Buffer): void => {
  const descriptor = openSync(file, 'r+');
  writeSync(descriptor, bytes, 0, bytes.length, at);
  closeSync(descriptor);
};

describe('a damaged folder', () => {
  it('is refused in one line, and with --accept-damage all is there but what was hit', async (t) => {
    const dir = tempDir(t);
    const port = await lastingPort();
    const first = await startServer(t, { dir, port });
    const tim = await first.agent('tim');
    const ids: string[] = [];
    for (let n = 0; n < 60; n++) ids.push(await tim.request());
    await first.kill('SIGKILL');
    overwrite(join(dir, 'parley.db-log-1'), 60_000, Buffer.alloc(512, 0xa5));

    const { stderr } = await refusalOf(t, dir);
    assert.match(
      stderr,
      /parley\.db-log-1 is damaged from byte \d+ to \d+ \(\d groups\); [1-9]\d whole groups of writes/,
    );

    const again = await startServer(t, { dir, port, args: ['--accept-damage'] });
    assert.match(again.stderr(), /storage damage accepted/);
    const found: string[] = [];
    for (const id of ids) if ((await tim.call('GET', `/v1/tasks/${id}`)).status === 200) found.push(id);
    assert.ok(found.length >= ids.length - 3, `${found.length} of ${ids.length} are left`);
    const galahad = await again.agent('galahad');
    assert.equal((await galahad.claim({ max: 1, wait: 5 })).length, 1, 'work goes on');
    assert.equal(readdirSync(dir).filter((name) => name.startsWith('damaged-')).length, 1);
    await again.stop();
    await startServer(t, { dir, port });
  });

  it('is refused where its database is gone, and its key is not', async (t) => {
    const dir = tempDir(t);
    const server = await startServer(t, { dir });
    await (await server.agent('tim')).request();
    await server.stop();
    for (const name of readdirSync(dir)) if (name.startsWith('parley.db')) rmSync(join(dir, name));
    assert.match((await refusalOf(t, dir)).stderr, /parley\.db is missing/);
  });
});

describe('a content that is damaged in its file', () => {
  const HARMS: Record<string, (file: string) => void> = {
    truncated: (file) => truncateSync(file, 1000),
    emptied: (file) => truncateSync(file, 0),
    flipped: (file) => {
      const content = readFileSync(file);
      content[9000] = (content[9000] ?? 0) ^ 4;
      writeFileSync(file, content);
    },
    deleted: (file) => rmSync(file),
  };

  for (const [what, harm] of Object.entries(HARMS)) {
    it(`is a problem of its own, said once in the log, and no hindrance to others: ${what}`, async (t) => {
      const dir = tempDir(t);
      const server = await startServer(t, { dir });
      const tim = await server.agent('tim');
      const id = await tim.request({ payload: { params: { text: 'x'.repeat(20_000) } } });
      harm(await findRetainedBlob(dir));
      const whole = await tim.request();
      for (let n = 0; n < 2; n++) {
        const reply = await tim.call('GET', `/v1/tasks/${id}`);
        assert.equal(reply.status, 410, JSON.stringify(reply.body));
        assert.equal(reply.body.code, 'content_damaged');
        assert.match(reply.body.detail, new RegExp(id));
      }
      const galahad = await server.agent('galahad');
      const claimed = await galahad.claim({ max: 10, wait: 5 });
      assert.deepEqual(
        claimed.map(({ message }) => message.id),
        [whole],
      );
      assert.equal(linesWith(server, '"blob damaged"'), 1);
    });
  }

  it('is no hindrance to what comes after it: the folder of all contents deleted', async (t) => {
    const dir = tempDir(t);
    const server = await startServer(t, { dir });
    const tim = await server.agent('tim');
    const text = 'x'.repeat(20_000);
    await tim.request({ payload: { params: { text } } });
    await findRetainedBlob(dir);
    rmSync(join(dir, 'blobs'), { recursive: true });
    const ids = await Promise.all(Array.from({ length: 4 }, () => tim.request({ payload: { params: { text } } })));
    for (const id of ids) assert.equal((await tim.call('GET', `/v1/tasks/${id}`)).status, 200);
    assert.equal((await server.stop()).code, 0);
  });
});

/** A new blob stands in `blobs/new` until an effect of its task's creation moves it, soon after the request was answered. */
const findRetainedBlob = (dir: string): Promise<string> =>
  eventually(() => {
    const files = readdirSync(join(dir, 'blobs'), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => join(parentPath, name));
    const [file] = files;
    assert.ok(file && !file.startsWith(join(dir, 'blobs', 'new')), `not yet retained: ${files}`);
    return file;
  });

const linesWith = (server: ServerProcess, text: string): number =>
  server
    .stderr()
    .split('\n')
    .filter((line) => line.includes(text)).length;

describe('a folder with an admin key and nothing else', () => {
  it('is started empty, and that is logged', async (t) => {
    const dir = tempDir(t);
    const first = await startServer(t, { dir });
    await first.stop();
    assert.doesNotMatch(first.stderr(), /no storage/);
    for (const name of readdirSync(dir)) {
      if (name.startsWith('parley.db') || name === 'store-id') rmSync(join(dir, name));
    }
    const second = await startServer(t, { dir });
    assert.match(second.stderr(), /admin key without storage/);
  });
});
