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
const asksOnNats = async (server: ServerProcess, url: string, requester = 'tim'): Promise<void> => {
  const galahad = await server.agent('galahad', { capabilities: ['intel.news'] });
  await server.agent(requester, { transport: 'nats' });
  const client = await connect({ servers: url });
  const request = taskRequest(requester, { payload: { task: 'intel.news' } });
  await jetstream(client).publish('roundtable.tasks.intel.news', JSON.stringify(request));
  await client.close();
  const [claimed] = await galahad.claim({ wait: 10 });
  assert.equal(claimed.message.id, request.id);
};

/** Parley with a NATS server of its own, from the path. */
const startWithNats = async (owner: Owner, within: string[] = []): Promise<{ server: ServerProcess; url: string }> => {
  const { PATH = '' } = process.env;
  const env = { PATH: `${dirname(natsServerPath())}:${PATH}` };
  const server = await startServer(owner, { dir: tempDir(owner), nats: 'local', env, within });
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

  it('ends with one clear line where --nats local finds no server on the path', async (t) => {
    const args = ['--port', '0', '--data', tempDir(t), '--nats', 'local'];
    const { code, stderr } = await runToEnd(t, args, { env: { PATH: '/nowhere' } });
    assert.equal(code, 1);
    assert.match(stderr, /^parley: There is no nats-server on the path[^\n]*\n$/);
  });

  it('starts no server that nobody asked for', async (t) => {
    const env = { PATH: `${dirname(natsServerPath())}:${process.env.PATH}` };
    const server = await startServer(t, { dir: tempDir(t), nats: '', env });
    assert.doesNotMatch(server.stdout(), /NATS/);
    assert.equal((await server.admin.call('GET', '/healthz')).body.nats, undefined);
  });

  it('ends with one clear line, before it listens, where --nats names no address', async (t) => {
    for (const wrong of [
      '4222',
      'nats://',
      'nats://:4222',
      'ws://127.0.0.1:4222',
      'nats://127.0.0.1:70000',
      'nats://h/x',
    ]) {
      const { code, stdout, stderr } = await runToEnd(t, ['--port', '0', '--data', tempDir(t), '--nats', wrong]);
      assert.deepEqual([code, stdout], [1, ''], wrong);
      assert.match(stderr, /^parley: --nats must be an address such as .*\n$/);
    }
  });

  it('waits for the server that --nats names, says so, and takes part as soon as it is there', async (t) => {
    const nats = await natsServer(t);
    await nats.kill();
    const server = await startServer(t, { dir: tempDir(t), nats: nats.url });
    assert.match(
      server.stdout(),
      /^NATS at nats:\S+ cannot be used yet: .*refused.* It is tried again until it can; HTTP works meanwhile\.$/m,
    );
    const tim = await server.agent('tim');
    const id = await tim.request();
    assert.equal((await tim.task(id)).state, 'requested');
    const warnings = () =>
      server
        .stderr()
        .split('\n')
        .filter((line) => line.includes('NATS connection failed, retrying'));
    await eventually(() => assert.equal(warnings().length, 1));
    await nats.start();
    await eventually(() => assert.match(server.stderr(), /"NATS connected"/), 20_000);
    await asksOnNats(server, nats.url, 'arthur');
    assert.equal(warnings().length, 1, 'one line, however often it was tried');
    assert.equal((await server.stop()).code, 0);
  });

  it('tells in /healthz whether NATS is connected or waited for, and nothing where there is none', async (t) => {
    const healthOf = async (server: ServerProcess) => {
      const { status, body } = await server.transport('GET', '/healthz', {}, undefined);
      return { status, body };
    };
    const nats = await natsServer(t);
    await nats.kill();
    const server = await startServer(t, { dir: tempDir(t), nats: nats.url });
    const [waiting, connected] = ['waiting', 'connected'].map((state) => ({
      status: 200,
      body: { status: 'ok', nats: state },
    }));
    assert.deepEqual(await healthOf(server), waiting);
    await nats.start();
    await eventually(async () => assert.deepEqual(await healthOf(server), connected), 20_000);
    await nats.kill();
    await eventually(async () => assert.deepEqual(await healthOf(server), waiting));
    await nats.start();
    await eventually(async () => assert.deepEqual(await healthOf(server), connected), 20_000);
    const without = await startServer(t, { dir: tempDir(t), nats: 'off' });
    assert.deepEqual(await healthOf(without), { status: 200, body: { status: 'ok' } });
  });

  it('stops at once while it waits for a server', async (t) => {
    const server = await startServer(t, { dir: tempDir(t), nats: 'nats://127.0.0.1:1' });
    assert.equal((await server.stop()).code, 0);
  });

  it('waits where the server refuses its credentials, says why, and shows no password', async (t) => {
    const nats = await natsServer(t, ['--user', 'parley', '--pass', 'right-password']);
    const at = (password: string) => nats.url.replace('nats://', `nats://parley:${password}@`);
    const refused = await startServer(t, { dir: tempDir(t), nats: at('wrong-password') });
    assert.match(refused.stdout(), /^NATS at nats:\S+ cannot be used yet: .*Authorization/m);
    assert.ok(!`${refused.stdout()}${refused.stderr()}`.includes('wrong-password'));
    assert.equal((await refused.admin.call('GET', '/v1/agents')).status, 200);
    const taken = await startServer(t, { dir: tempDir(t), nats: at('right-password') });
    assert.match(taken.stdout(), /^Agents on NATS take part at nats:\S+$/m);
    assert.ok(!taken.stdout().includes('right-password'));
  });
});
