import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { type Reply, type TestAgent, taskRequest } from '../support/api.ts';
import { lastingPort, runToEnd, type ServerOptions, startServer, tempDir } from '../support/server-process.ts';
import { smallDisk } from './small-disk.ts';

/** What was sent until the server no longer took it. */
interface Sent {
  accepted: string[];
  /** The answer to the first that was not taken; none where the connection closed. */
  refusal?: Reply;
}

const sendUntilFull = async (tim: TestAgent, textBytes: number): Promise<Sent> => {
  const accepted: string[] = [];
  for (let n = 0; n < 2000; n++) {
    const message = taskRequest(tim.id, { payload: { params: { text: 'x'.repeat(textBytes) } } });
    const reply = await tim.send(message).catch(() => undefined);
    if (reply?.status !== 202) return { accepted, refusal: reply };
    accepted.push(message.id);
  }
  return assert.fail('the disk took everything');
};

/** Fills the disk, sees the process end with its one line, makes room, and sees everything that was accepted again. */
const fillAndRecover = async (
  t: TestContext,
  full: ServerOptions,
  textBytes: number,
  makeRoom: () => Promise<ServerOptions>,
): Promise<string> => {
  const port = await lastingPort();
  const first = await startServer(t, { ...full, port });
  const tim = await first.agent('tim');
  const { accepted, refusal } = await sendUntilFull(tim, textBytes);
  assert.ok(accepted.length > 5);
  assert.ok(refusal === undefined || refusal.body.code === 'storage_unavailable', JSON.stringify(refusal?.body));
  const { code, stderr } = await first.exited;
  assert.equal(code, 1);
  assert.match(stderr, /^parley: [^\n]+\n$/);

  await startServer(t, { ...(await makeRoom()), port });
  const galahad = await first.agent('galahad');
  const lengths = new Map<string, number>();
  while (!accepted.every((id) => lengths.has(id))) {
    const tasks = await galahad.claim({ max: 10, wait: 5 });
    assert.ok(tasks.length > 0, `of ${accepted.length} tasks only ${lengths.size} can be claimed`);
    for (const { message } of tasks) lengths.set(message.id, message.payload.params.text.length);
  }
  assert.deepEqual([...new Set(lengths.values())], [textBytes]);
  return stderr;
};

const IS_FULL = /^parley: The disk with .* is full\. Free some space and start again[^\n]*\n$/;

describe('a full disk ends the process with one line, and nothing that was accepted is lost', () => {
  for (const [where, textBytes] of Object.entries({ 'in the database': 2000, 'in files of their own': 20_000 })) {
    it(`with contents ${where}`, async (t) => {
      const disk = await smallDisk(t, 2000);
      const line = await fillAndRecover(t, disk, textBytes, async () => {
        disk.fill();
        const again = await runToEnd(t, ['--port', '0', '--data', disk.dir], disk);
        assert.match(again.stderr, IS_FULL);
        await disk.grow();
        return disk;
      });
      assert.match(line, IS_FULL);
    });
  }

  it('where writing fails for another reason', async (t) => {
    const dir = tempDir(t);
    const limited = ['bash', '-c', `trap '' XFSZ; ulimit -f 1000; exec "$@"`, 'limited'];
    const line = await fillAndRecover(t, { dir, within: limited }, 2000, async () => ({ dir }));
    assert.match(line, /start again|--data/);
  });
});
