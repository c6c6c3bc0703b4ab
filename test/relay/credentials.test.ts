import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { nkeys } from '@nats-io/transport-node';
import { buildNatsOptions, connectToNats } from '../../relay/connect.ts';
import { parseSettings } from '../../relay/settings.ts';
import { natsServer } from '../support/nats-server.ts';
import { type Owner, tempDir } from '../support/server-process.ts';

const settings = (nats: Record<string, string>) =>
  parseSettings({
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
  const options = (more: Record<string, string>) => buildNatsOptions(settings({ NATS_SERVERS: url, ...more }));
  const connection = await connectToNats(options(env), 'relay', 0);
  await connection.flush();
  await connection.close();
  await assert.rejects(connectToNats(options({}), 'relay', 0), /cannot be reached/);
};

/** What one key says of another, as NATS has it. */
const token = (issuer: nkeys.KeyPair, subject: nkeys.KeyPair, type: 'operator' | 'account' | 'user'): string => {
  const encoded = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const claims = {
    jti: randomUUID(),
    iat: Math.floor(Date.now() / 1000),
    iss: issuer.getPublicKey(),
    sub: subject.getPublicKey(),
    name: type,
    nats: { type, version: 2, ...LIMITS[type] },
  };
  const said = `${encoded({ typ: 'JWT', alg: 'ed25519-nkey' })}.${encoded(claims)}`;
  return `${said}.${Buffer.from(issuer.sign(Buffer.from(said))).toString('base64url')}`;
};

const NONE = -1;
const LIMITS = {
  operator: {},
  account: { limits: { subs: NONE, data: NONE, payload: NONE, conn: NONE, leaf: NONE, imports: NONE, exports: NONE } },
  user: { subs: NONE, data: NONE, payload: NONE },
};

/** The file that `nsc` writes. */
const credentials = (jwt: string, user: nkeys.KeyPair): string => {
  const part = (name: string, text: string): string => `-----BEGIN ${name}-----\n${text}\n------END ${name}------\n\n`;
  return part('NATS USER JWT', jwt) + part('USER NKEY SEED', new TextDecoder().decode(user.getSeed()));
};

describe('a relay is let in', () => {
  it('by the seed of an nkey', async (t) => {
    const pair = nkeys.createUser();
    const seed = join(tempDir(t), 'seed');
    writeFileSync(seed, `${new TextDecoder().decode(pair.getSeed())}\n`);
    const conf = `authorization { users: [ { nkey: ${pair.getPublicKey()} } ] }`;
    await connects(t, conf, { NATS_NKEY_SEED_FILE: seed });
  });

  it('by a credentials file', async (t) => {
    const [operator, system, account, user] = [
      nkeys.createOperator(),
      nkeys.createAccount(),
      nkeys.createAccount(),
      nkeys.createUser(),
    ];
    const tokens = [system, account].map((one) => `${one.getPublicKey()}: ${token(operator, one, 'account')}`);
    const conf = `
      operator: ${token(operator, operator, 'operator')}
      system_account: ${system.getPublicKey()}
      resolver: MEMORY
      resolver_preload: { ${tokens.join(', ')} }`;
    const file = join(tempDir(t), 'relay.creds');
    writeFileSync(file, credentials(token(account, user, 'user'), user));
    await connects(t, conf, { NATS_CREDS_FILE: file });
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
