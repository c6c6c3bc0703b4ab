import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after } from 'node:test';
import { type Caller, callerWith, httpTransport, registered, type TestAgent, type Transport } from '../support/api.ts';
import { inTurns } from '../support/in-turns.ts';
import { startServer, tempDir } from '../support/server-process.ts';

/**
 * The system under test: the one at PARLEY_URL, with PARLEY_ADMIN_KEY, or else one that is started for this file.
 * Others may use it at the same time, so that a test must look only at its own agents and tasks.
 */
export interface Deployment {
  address: string;
  admin: Caller;
  adminKey: string;
  transport: Transport;
  /** Registers an agent whose id nobody else has. It serves no domain unless its registration says so. */
  agent(name: string, registration?: object): Promise<TestAgent>;
}

export const deployment = async (): Promise<Deployment> => {
  const { PARLEY_URL: url, PARLEY_ADMIN_KEY: key } = process.env;
  assert.equal(url === undefined, key === undefined, 'PARLEY_URL and PARLEY_ADMIN_KEY must be set together');
  const owner = { after };
  const { address, adminKey } =
    url && key ? { address: url.replace(/\/$/, ''), adminKey: key } : await startServer(owner, { dir: tempDir(owner) });
  const transport = httpTransport(address);
  const admin = callerWith(transport, adminKey);
  const run = randomBytes(4).toString('hex');
  const ids: string[] = [];
  after(async () => {
    if (url) await inTurns(ids, (id) => admin.call('DELETE', `/v1/agents/${id}`));
  });
  return {
    address,
    admin,
    adminKey,
    transport,
    agent: (name, registration = {}) => {
      const id = `e2e-${run}-${ids.length}-${name}`;
      ids.push(id);
      return registered(transport, admin, id, registration);
    },
  };
};
