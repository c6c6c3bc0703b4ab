import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { promisify } from 'node:util';
import { jetstream } from '@nats-io/jetstream';
import { connect, headers } from '@nats-io/transport-node';
import { ADMIN_OWNER, generateKey } from '../../shared/identity/auth/keys.ts';
import { callerWith, registered } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { groundAgent, Worker } from '../support/ground.ts';
import { natsServer } from '../support/nats-server.ts';
import { atEndOf, runToEnd, type ServerProcess, startServer, tempDir } from '../support/server-process.ts';

const NODE_OPTIONS = `--import ${new URL('./two-projects/use-config.ts', import.meta.url).href}`;

const projectOf = (server: ServerProcess, key: string) => {
  const admin = callerWith(server.transport, key);
  return { admin, agent: (id: string, more?: object) => registered(server.transport, admin, id, more) };
};

const keyIn = (dir: string, name: string) => readFileSync(join(dir, name), 'utf8').trim();

describe('a second project on one machine', () => {
  it('has an admin key in a file of its own, which opens that project alone', async (t) => {
    const dir = tempDir(t);
    const server = await startServer(t, { dir, env: { NODE_OPTIONS } });
    assert.match(
      server.stdout(),
      /^The admin key of the project camelot, shown only now, is prl_camelot\.\S+\nIt is kept in \S+\/admin-key\.camelot$/m,
    );
    assert.match(server.stdout(), /^It is kept in \S+\/admin-key\.far-away$/m);
    assert.equal(statSync(join(dir, 'admin-key.camelot')).mode & 0o777, 0o600);
    const camelot = projectOf(server, keyIn(dir, 'admin-key.camelot'));
    const tim = await camelot.agent('tim', { dialect: 'task-format', capabilities: [] });
    assert.deepEqual((await server.admin.call('GET', '/v1/agents')).body.agents, []);
    assert.equal((await camelot.admin.call('GET', '/v1/domains')).body.domains[0].name, 'intel');
    assert.equal((await tim.call('GET', '/v1/inbox')).status, 200);
    await server.stop();
    const again = await startServer(t, { dir, env: { NODE_OPTIONS } });
    const kept = projectOf(again, keyIn(dir, 'admin-key.camelot'));
    assert.equal((await kept.admin.call('GET', '/v1/agents')).body.agents[0].id, 'tim');
  });

  it('takes its admin key from a variable with its name', async (t) => {
    const key = generateKey('far-away', ADMIN_OWNER);
    const server = await startServer(t, { dir: tempDir(t), env: { NODE_OPTIONS, PARLEY_ADMIN_KEY_FAR_AWAY: key } });
    assert.match(server.stdout(), /^The admin key of the project far-away is that of PARLEY_ADMIN_KEY_FAR_AWAY$/m);
    assert.ok(!server.stdout().includes(key));
    assert.equal((await projectOf(server, key).admin.call('GET', '/v1/agents')).status, 200);
    const foreign = { NODE_OPTIONS, PARLEY_ADMIN_KEY_CAMELOT: 'a-key-without-a-project' };
    const { code, stderr } = await runToEnd(t, ['--port', '0', '--nats', 'off', '--data', tempDir(t)], {
      env: foreign,
    });
    assert.equal(code, 1);
    assert.match(stderr, /^parley: PARLEY_ADMIN_KEY_CAMELOT is a key of .* prl_camelot\.@admin\..*\n$/);
  });

  it('has a relay of its own', async (t) => {
    const nats = await natsServer(t);
    const dir = tempDir(t);
    const server = await startServer(t, { dir, nats: nats.url, env: { NODE_OPTIONS } });
    assert.match(server.stdout(), /^Agents on NATS take part at nats:\S+ \(projects default, camelot\)$/m);
    const client = await connect({ servers: nats.url });
    atEndOf(t, () => client.close());
    for (const [project, file] of [
      ['default', 'admin-key'],
      ['camelot', 'admin-key.camelot'],
    ] as const) {
      const own = projectOf(server, keyIn(dir, file));
      const worker = await groundAgent(own, 'worker');
      await groundAgent(own, 'pmo', { transport: 'nats' });
      const said = headers();
      said.set('CG-Sender', 'pmo');
      const call = JSON.stringify({ correlation_id: `call-of-${project}`, mode: 'call' });
      await jetstream(client).publish(`cg.v1r3.${project}.public.cmd.agent.worker.turn`, call, { headers: said });
      const held = await eventually(() => new Worker(worker).begin());
      assert.equal(held.inbox[0].correlation_id, `call-of-${project}`);
    }
  });
});

describe('the admin key', () => {
  it('is printed when it is made and never again, and the command of the banner works as it is', async (t) => {
    const dir = tempDir(t);
    for (const [start, env] of [undefined, undefined, { PARLEY_ADMIN_KEY: "king-arthur's-own-key" }].entries()) {
      const server = await startServer(t, { dir, env });
      assert.equal(server.stdout().includes(server.adminKey), start === 0, server.stdout());
      const [line = ''] = /^curl .*$/m.exec(server.stdout()) ?? [];
      assert.ok(!line.includes(server.adminKey));
      const { stdout } = await promisify(execFile)('bash', ['-c', line], { env: { ...process.env, ...env } });
      assert.equal(JSON.parse(stdout).domains[0].name, 'security');
      await server.stop();
    }
  });

  it('is to be guarded by TLS where others can reach it, and the greeting says so', async (t) => {
    const listening = await startServer(t, { dir: tempDir(t), host: '0.0.0.0' });
    assert.match(listening.stdout(), /^It speaks plain HTTP, .*TLS.*SECURITY\.md/m);
    const own = await startServer(t, { dir: tempDir(t) });
    assert.doesNotMatch(own.stdout(), /plain HTTP/);
  });
});
