import assert from 'node:assert/strict';
import { resolve } from 'node:path';
import { after, describe, it, type TestContext } from 'node:test';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { callerWith, httpTransport, registered } from '../../test/support/api.ts';
import { startServer, tempDir } from '../../test/support/server-process.ts';

const OWNER = { after };
const MAIN = resolve(import.meta.dirname, '..', 'bin.mjs');
const { address, adminKey } = await startServer(OWNER, { dir: tempDir(OWNER) });
const transport = httpTransport(address);
const admin = callerWith(transport, adminKey);

const connectStdio = async (t: TestContext, key: string, mode: 'auto' | 'legacy', url = address): Promise<Client> => {
  const env = { ...process.env, PARLEY_URL: url, PARLEY_KEY: key } as Record<string, string>;
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } });
  t.after(() => client.close());
  await client.connect(new StdioClientTransport({ command: process.execPath, args: [MAIN, 'mcp'], env }));
  return client;
};

describe('parley mcp', () => {
  for (const mode of ['auto', 'legacy'] as const) {
    it(`brings calls, progress and results through standard input and output, in the ${mode} era`, async (t) => {
      const capability = `speak-${mode}`;
      const host = await registered(transport, admin, `host-${mode}`, { dialect: 'native', capabilities: [] });
      const registration = { dialect: 'native', capabilities: [capability] };
      const worker = await registered(transport, admin, `worker-${mode}`, registration);
      const client = await connectStdio(t, host.key, mode);
      const { tools } = await client.listTools();
      assert.ok(tools.some(({ name }) => name === capability));
      const told: (string | undefined)[] = [];
      const onprogress = ({ message }: { message?: string }) => told.push(message);
      const call = client.callTool({ name: capability, arguments: { text: 'ä' } }, { onprogress });
      const [task] = await worker.claim({ wait: 20 });
      assert.deepEqual(task.message.input, { text: 'ä' });
      await worker.send({ kind: 'progress', taskId: task.message.id, percent: 40, message: 'half-way' });
      while (!told.includes('half-way')) await new Promise((done) => setTimeout(done, 50));
      await worker.send({ kind: 'result', taskId: task.message.id, output: 'ö' });
      assert.deepEqual((await call).content, [{ type: 'text', text: 'ö' }]);
    });
  }

  it('says what is wrong with a key, and that Parley is away', async (t) => {
    await assert.rejects(connectStdio(t, 'prl_default.nobody.wrong', 'legacy'), /checksum of the key is wrong/);
    await assert.rejects(connectStdio(t, adminKey, 'legacy', 'http://127.0.0.1:9'), /does not answer at/);
  });
});
