import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Reply, type TestAgent, taskRequest } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { lastingPort, type ServerProcess, startServer, tempDir } from '../support/server-process.ts';
import { smallDisk } from './small-disk.ts';

/** What was sent until the server no longer took it. */
interface Sent {
  accepted: string[];
  /** The answer to the first that was not taken; none where the connection closed. */
  refusal?: Reply;
}

const sendUntilFull = async (tim: TestAgent, textBytes: number): Promise<Sent> => {
  const accepted: string[] = [];
  for (let round = 0; round < 200; round++) {
    const messages = Array.from({ length: 20 }, () =>
      taskRequest(tim.id, { payload: { params: { text: 'x'.repeat(textBytes) } } }),
    );
    const replies = await Promise.all(messages.map((message) => tim.send(message).catch(() => undefined)));
    accepted.push(...messages.filter((_, at) => replies[at]?.status === 202).map(({ id }) => id));
    const refused = replies.findIndex((reply) => reply?.status !== 202);
    if (refused >= 0) return { accepted, refusal: replies[refused] };
  }
  return assert.fail('the disk took everything');
};

/** Claims until all of them were there, each with its text. */
const claimAll = async (galahad: TestAgent, accepted: string[], textBytes: number): Promise<void> => {
  const lengths = new Map<string, number>();
  while (!accepted.every((id) => lengths.has(id))) {
    const tasks = await galahad.claim({ max: 10, wait: 5 });
    assert.ok(tasks.length > 0, `of ${accepted.length} tasks only ${lengths.size} can be claimed`);
    for (const { message } of tasks) lengths.set(message.id, message.payload.params.text.length);
  }
  assert.deepEqual([...new Set(lengths.values())], [textBytes]);
};

describe('a full disk refuses writes until there is room, and nothing that was accepted is lost', () => {
  for (const { where, textBytes, kilobytes } of [
    { where: 'in the journal', textBytes: 2000, kilobytes: 3000 },
    { where: 'that SQLite cannot commit', textBytes: 3500, kilobytes: 9000 },
    { where: 'in files of their own', textBytes: 20_000, kilobytes: 3000 },
  ]) {
    it(`with contents ${where}`, async (t) => {
      const disk = await smallDisk(t, kilobytes);
      const server = await startServer(t, disk);
      const tim = await server.agent('tim');
      const { accepted, refusal } = await sendUntilFull(tim, textBytes);
      assert.ok(accepted.length > 5);
      assert.equal(refusal?.status, 503, JSON.stringify(refusal?.body));
      assert.equal(refusal?.body.code, 'storage_full');
      assert.equal(refusal?.headers['retry-after'], '5');

      disk.fill();
      const [first = ''] = accepted;
      assert.equal((await server.transport('GET', '/healthz', {}, undefined)).status, 200);
      assert.equal((await tim.task(first)).state, 'requested', 'reads go on');

      disk.free();
      await disk.grow();
      const more = await eventually(
        () => tim.request({ payload: { params: { text: 'x'.repeat(textBytes) } } }),
        30_000,
      );
      const port = await lastingPort();
      await server.kill('SIGKILL');
      const again = await startServer(t, { ...disk, port });
      assert.match(server.stderr(), /storage_full/);
      await claimAll(await again.agent('galahad'), [...accepted, more], textBytes);
    });

    it(`and is no hindrance to a start, with contents ${where}`, async (t) => {
      const disk = await smallDisk(t, kilobytes);
      const port = await lastingPort();
      const server = await startServer(t, { ...disk, port });
      const tim = await server.agent('tim');
      const { accepted } = await sendUntilFull(tim, textBytes);
      disk.fill();
      await server.kill('SIGKILL');
      disk.fill();
      const full = await startServer(t, { ...disk, port });
      const [first = ''] = accepted;
      assert.equal((await tim.task(first)).state, 'requested');
      const more = await sendUntilFull(tim, textBytes);
      assert.equal(more.refusal?.body.code, 'storage_full', JSON.stringify(more.refusal?.body));
      const ended = await full.stop();
      assert.equal(ended.code, 0, ended.stderr);
      disk.free();
      await disk.grow();
      const again = await startServer(t, { ...disk, port });
      await claimAll(await again.agent('galahad'), [...accepted, ...more.accepted], textBytes);
    });
  }
});

/** The lines of the server's log with this text. */
const linesWith = (server: ServerProcess, text: string): string[] =>
  server
    .stderr()
    .split('\n')
    .filter((line) => line.includes(text));

describe('a full disk is logged', () => {
  for (const { where, textBytes } of [
    { where: 'in the journal', textBytes: 2000 },
    { where: 'in files of their own', textBytes: 20_000 },
  ]) {
    it(`when it begins and when it ends, and once a minute however many requests it refuses, with contents ${where}`, async (t) => {
      const disk = await smallDisk(t, 3000);
      const server = await startServer(t, disk);
      const tim = await server.agent('tim');
      await sendUntilFull(tim, textBytes);
      disk.fill();
      const text = 'x'.repeat(textBytes);
      // What the journal had room for is taken first.
      for (let refused = 0; refused < 40; ) {
        const { status } = await tim.send(taskRequest('tim', { payload: { params: { text } } }));
        if (status === 503) refused += 1;
      }
      // A minute may begin meanwhile.
      const refusals = linesWith(server, 'storage_full').length;
      assert.ok(refusals === 1 || refusals === 2, server.stderr());
      const begun = linesWith(server, 'disk full').length;
      // The journal finds some room once more when it is committed.
      assert.ok(begun >= 1 && begun <= 5, server.stderr());
      disk.free();
      await disk.grow();
      await eventually(() => tim.request({ payload: { params: { text } } }), 30_000);
      await eventually(async () =>
        assert.equal(linesWith(server, 'disk has space again').length, begun, server.stderr()),
      );
    });
  }
});

describe('a disk that fails for another reason', () => {
  it('ends the process with one line, and nothing that was accepted is lost', async (t) => {
    const dir = tempDir(t);
    const port = await lastingPort();
    const within = ['bash', '-c', `trap '' XFSZ; ulimit -f 2000; exec "$@"`, 'limited'];
    const first = await startServer(t, { dir, within, port });
    const tim = await first.agent('tim');
    const { accepted, refusal } = await sendUntilFull(tim, 2000);
    assert.ok(accepted.length > 5);
    assert.ok(refusal === undefined || refusal.body.code === 'storage_unavailable', JSON.stringify(refusal?.body));
    const { code, stderr } = await first.exited;
    assert.equal(code, 1);
    assert.match(stderr, /^parley: [^\n]*(start again|--data)[^\n]*\n$/);
    const again = await startServer(t, { dir, port });
    await claimAll(await again.agent('galahad'), accepted, 2000);
  });
});
