import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { nkeys } from '@nats-io/transport-node';
import { connectTo, natsOptions } from '../../relay/connect.ts';
import { settingsFrom } from '../../relay/settings.ts';
import { natsServer } from '../support/nats-server.ts';
import { type Owner, tempDir } from '../support/server-process.ts';

const settings = (nats: Record<string, string>) =>
  settingsFrom({
    PARLEY_URL: 'http://127.0.0.1:1',
    PARLEY_RELAY_KEY: 'k',
    PARLEY_QUEUE_URL_PREFIX: 'http://127.0.0.1:1/',
    ...nats,
  });

/** Whether a server that is set up so lets the relay in. */
const connects = async (owner: Owner, conf: string, env: Record<string, string>): Promise<void> => {
  const file = join(tempDir(owner), 'nats.conf');
  writeFileSync(file, conf);
  const { url } = await natsServer(owner, ['-c', file]);
  const options = (more: Record<string, string>) => natsOptions(settings({ NATS_SERVERS: url, ...more }));
  const connection = await connectTo(options(env), 'relay', 0);
  await connection.flush();
  await connection.close();
  await assert.rejects(connectTo(options({}), 'relay', 0), /cannot be reached/);
};

describe('a relay is let in', () => {
  it('by the seed of an nkey', async (t) => {
    const pair = nkeys.createUser();
    const seed = join(tempDir(t), 'seed');
    writeFileSync(seed, `${new TextDecoder().decode(pair.getSeed())}\n`);
    const conf = `authorization { users: [ { nkey: ${pair.getPublicKey()} } ] }`;
    await connects(t, conf, { NATS_NKEY_SEED_FILE: seed });
  });

  it('by user and password, or a token', async (t) => {
    await connects(t, 'authorization { user: relay, password: secret }', {
      NATS_USER: 'relay',
      NATS_PASSWORD: 'secret',
    });
    await connects(t, 'authorization { token: secret }', { NATS_TOKEN: 'secret' });
  });

  it('by a certificate, over TLS', async (t) => {
    const dir = join(tempDir(t), 'certs');
    mkdirSync(dir);
    const openssl = (...args: string[]) => execFileSync('openssl', args, { cwd: dir, stdio: 'pipe' });
    const name = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=IP:127.0.0.1,DNS:localhost'];
    openssl(
      'req',
      '-x509',
      '-newkey',
      'rsa:2048',
      '-nodes',
      '-days',
      '2',
      '-keyout',
      'key.pem',
      '-out',
      'cert.pem',
      ...name,
    );
    openssl('x509', '-in', 'cert.pem', '-out', 'ca.pem');
    const [cert, key, ca] = ['cert.pem', 'key.pem', 'ca.pem'].map((file) => JSON.stringify(join(dir, file)));
    const conf = `tls { cert_file: ${cert}, key_file: ${key}, ca_file: ${ca}, verify: true }`;
    await connects(t, conf, { NATS_TLS_ENABLED: 'true', NATS_CERT_DIR: dir });
  });
});
