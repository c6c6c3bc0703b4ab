import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { eventually } from '../support/eventually.ts';
import { type ServerProcess, startServer, tempDir } from '../support/server-process.ts';

const KITCHEN = { kitchen: { description: 'dishes' } };
const GARDEN = { ...KITCHEN, garden: { description: 'plants' } };

const listDomains = async ({ admin }: ServerProcess): Promise<string[]> =>
  (await admin.call('GET', '/v1/domains')).body.domains.map(({ name }: { name: string }) => name);

const reload = (server: ServerProcess): unknown => process.kill(server.pid, 'SIGHUP');

const countLines = (server: ServerProcess, text: string): number => server.stderr().split(text).length - 1;

describe('SIGHUP', () => {
  for (const type of ['json', 'ts']) {
    it(`takes up domains and limits of a changed file.${type} without a restart, and nothing of a wrong one`, async (t) => {
      const file = join(tempDir(t), `parley.config.${type}`);
      const write = (config: object) =>
        writeFileSync(file, type === 'json' ? JSON.stringify(config) : `export default ${JSON.stringify(config)};`);
      write({ projects: { default: { domains: KITCHEN } } });
      const server = await startServer(t, { dir: tempDir(t), args: ['--config', file] });
      const cook = await server.agent('cook', { dialect: 'native', capabilities: ['kitchen.cook'] });
      assert.deepEqual(await listDomains(server), ['kitchen']);

      write({ projects: { default: { domains: GARDEN } }, limits: { batch: 1 } });
      reload(server);
      await eventually(async () => assert.deepEqual(await listDomains(server), ['kitchen', 'garden']));
      assert.equal((await cook.call('POST', '/v1/messages', { messages: [{}, {}] })).body.code, 'too_large');
      const { body: document } = await server.admin.call('GET', '/openapi.json');
      assert.equal(document['x-limits'].batch, 1);

      write({ projects: { default: { domains: {} } }, tasks: { leaseMs: 'long' }, colour: 'red' });
      reload(server);
      await eventually(() => assert.match(server.stderr(), /configuration refused, the old one stays/));
      assert.match(server.stderr(), /tasks\.leaseMs.*colour/);
      assert.deepEqual(await listDomains(server), ['kitchen', 'garden']);

      rmSync(file);
      reload(server);
      await eventually(() => assert.match(server.stderr(), /There is no .* to read again/));
      writeFileSync(file, '{ not even');
      reload(server);
      await eventually(() => assert.equal(countLines(server, 'configuration refused'), 3));
      write({ projects: { default: { domains: KITCHEN } } });
      reload(server);
      await eventually(async () => assert.deepEqual(await listDomains(server), ['kitchen']));
      assert.equal((await server.transport('GET', '/healthz', {}, undefined)).status, 200);
    });
  }

  it('changes nothing if the file has a change that only a restart can make, and names it', async (t) => {
    const file = join(tempDir(t), 'parley.config.json');
    writeFileSync(file, JSON.stringify({ projects: { default: { domains: KITCHEN } } }));
    const server = await startServer(t, { dir: tempDir(t), args: ['--config', file] });
    const projects = { default: { domains: GARDEN, relay: true }, other: { domains: {} } };
    writeFileSync(file, JSON.stringify({ projects, events: { retentionMs: 1000 } }));
    reload(server);
    const fixed = ['projects.default.relay', 'projects.other', 'projects.other.relay', 'events.retentionMs'];
    await eventually(() => {
      for (const key of fixed) assert.ok(server.stderr().includes(key), key);
    });
    assert.deepEqual(await listDomains(server), ['kitchen']);
  });
});
