import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { describe, it } from 'node:test';
import { startHttpServer } from '../../local/http-server.ts';
import { systemClock } from '../../shared/ports/clock.ts';
import { atEndOf, lastingPort, type Owner } from '../support/server-process.ts';
import { testParley } from '../support/test-parley.ts';
import { outboundConfig } from '../support/webhook-receiver.ts';

const start = (owner: Owner, file: string, args: string[], env: Record<string, string>) => {
  const child = spawn(process.execPath, [resolve('examples/a2a', file), ...args], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  atEndOf(owner, () => child.kill('SIGKILL'));
  return child;
};

describe('The example of the official A2A SDK', () => {
  it('brings a message of its client to its server and the answer back', { timeout: 60_000 }, async (t) => {
    const { parley, admin, agent } = await testParley(t, { config: outboundConfig, clock: systemClock });
    const http = await startHttpServer(parley.handle, 0, '127.0.0.1', () => {}, 100);
    atEndOf(t, () => http.close());
    const port = await lastingPort();
    const server = start(t, 'server.ts', [], { PORT: String(port) });
    await once(server.stdout, 'data');
    const url = `http://127.0.0.1:${port}`;
    const registration = { dialect: 'a2a', transport: 'a2a', url, capabilities: ['shout'] };
    assert.equal((await admin.call('PUT', '/v1/agents/shouter', registration)).status, 201);
    const { key } = await agent('caller', { dialect: 'a2a' });
    const env = { PARLEY_URL: `http://127.0.0.1:${http.port}`, KEY: key };
    const client = start(t, 'client.ts', ['the tide is in'], env);
    let said = '';
    client.stdout.on('data', (piece) => {
      said += piece;
    });
    await once(client, 'close');
    assert.equal(said, 'THE TIDE IS IN!\n');
  });
});
