import assert from 'node:assert/strict';
import { after, it } from 'node:test';
import { lastingPort, startServer, tempDir } from '../../../test/support/server-process.ts';
import { connect } from '../src/index.ts';

const OWNER = { after };
const REQUESTS = 1000;

it('1,000 requests each end once with their result, though the server is killed and started again meanwhile', async () => {
  const options = { dir: tempDir(OWNER), port: await lastingPort() };
  const server = await startServer(OWNER, options);
  const { address: url } = server;
  const requester = connect({ url, key: (await server.agent('requester', { dialect: 'native' })).key });
  const parley = connect({
    url,
    key: (await server.agent('worker', { dialect: 'native', capabilities: ['double'] })).key,
  });
  const said: string[] = [];
  for (const name of ['offline', 'online'] as const) parley.when(name, () => said.push(name));
  const worker = parley.worker({ concurrency: 20 });
  let restarted: Promise<unknown> | undefined;
  let completed = 0;
  worker.when('completed', () => {
    if (++completed === REQUESTS / 4) restarted = server.kill('SIGKILL').then(() => startServer(OWNER, options));
  });
  worker.on<number, number>('double', ({ input }) => input * 2);
  const running = worker.run({ signals: false });
  const handles = Array.from({ length: REQUESTS }, (_, index) => requester.request<number>('double', index));
  assert.deepEqual(
    await Promise.all(handles.map((handle) => handle.result())),
    handles.map((_, index) => index * 2),
  );
  await restarted;
  assert.deepEqual(said, ['offline', 'online']);
  const told = new Set<unknown>();
  for await (const { kind, taskId } of requester.inbox()) {
    assert.ok(kind !== 'result' || !told.has(taskId), `two results of ${taskId}`);
    told.add(taskId);
    if (told.size === REQUESTS) break;
  }
  await worker.stop();
  await running;
});
