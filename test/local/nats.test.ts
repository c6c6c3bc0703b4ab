import assert from 'node:assert/strict';
import { dirname } from 'node:path';
import { describe, it } from 'node:test';
import { jetstream } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { taskRequest } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { natsServer, natsServerPath } from '../support/nats-server.ts';
import { type Owner, runToEnd, type ServerProcess, startServer, tempDir } from '../support/server-process.ts';

/** A task that is asked for on NATS reaches an agent over HTTP. */
const asksOnNats = async (server: ServerProcess, url: string): Promise<void> => {
  const galahad = await server.agent('galahad', { capabilities: ['intel.news'] });
  await server.agent('tim', { via: 'nats' });
  const client = await connect({ servers: url });
  const request = taskRequest('tim', { payload: { task: 'intel.news' } });
  await jetstream(client).publish('roundtable.tasks.intel.news', JSON.stringify(request));
  await client.close();
  const [claimed] = await galahad.claim({ wait: 10 });
  assert.equal(claimed.message.id, request.id);
};

/** Parley with a NATS server of its own: whatever is left out of --nats is looked for on the path. */
const startWithNats = async (owner: Owner, within: string[] = []): Promise<{ server: ServerProcess; url: string }> => {
  const { PATH = '' } = process.env;
  const env = { PATH: `${dirname(natsServerPath())}:${PATH}` };
  const server = await startServer(owner, { dir: tempDir(owner), nats: '', env, within });
  const [, url = ''] = /^Agents on NATS take part at (nats:\S+)$/m.exec(server.stdout()) ?? [];
  return { server, url };
};

const isGone = (url: string): Promise<boolean> =>
  connect({ servers: url, reconnect: false, timeout: 500 }).then(
    (client) => client.close().then(() => false),
    () => true,
  );

describe('a start with NATS', () => {
  it('runs a server from the path and a relay, and stops both with itself', async (t) => {
    const { server, url } = await startWithNats(t);
    await asksOnNats(server, url);
    const { code, stderr } = await server.stop();
    assert.equal(code, 0);
    assert.equal(stderr, '');
    assert.ok(await isGone(url));
  });

  it('leaves no server behind that it started, though it is killed', async (t) => {
    const { server, url } = await startWithNats(t);
    assert.equal(await isGone(url), false);
    await server.kill('SIGKILL');
    await eventually(async () => assert.ok(await isGone(url)));
  });

  it('stops without a word when Ctrl-C reaches all that the terminal runs', async (t) => {
    // In a group of its own, as a terminal makes one for each command.
    const { server, url } = await startWithNats(t, ['setsid']);
    await asksOnNats(server, url);
    process.kill(-server.pid, 'SIGINT');
    const { code, stderr } = await server.exited;
    assert.equal(stderr, '');
    assert.equal(code, 0);
  });

  it('uses the server that --nats names', async (t) => {
    const nats = await natsServer(t);
    const server = await startServer(t, { dir: tempDir(t), nats: nats.url });
    await asksOnNats(server, nats.url);
  });

  it('runs without, and says so, where there is none on the path', async (t) => {
    const server = await startServer(t, { dir: tempDir(t), nats: '', env: { PATH: '/nowhere' } });
    assert.match(server.stdout(), /^Agents on NATS cannot take part: there is no nats-server on the path/m);
    assert.equal((await server.admin.call('GET', '/v1/agents')).status, 200);
  });

  it('ends with one clear line where the server that was named is not there, or is no address', async (t) => {
    const args = ['--port', '0', '--data', tempDir(t)];
    const absent = await runToEnd(t, [...args, '--nats', 'nats://127.0.0.1:1']);
    assert.equal(absent.code, 1);
    assert.match(absent.stderr, /^parley: NATS at nats:\/\/127\.0\.0\.1:1 cannot be reached: .*--nats off\.\n$/);
    const wrong = await runToEnd(t, [...args, '--nats', '4222']);
    assert.match(wrong.stderr, /^parley: --nats must be an address such as .*\n$/);
  });
});
