import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { pathToFileURL } from 'node:url';
import { callerWith, httpTransport, registered } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { installOutside } from '../support/install-outside.ts';
import { isLong } from '../support/scale.ts';
import { atEndOf, startServer, tempDir } from '../support/server-process.ts';

const LANGGRAPH = ['@langchain/langgraph@1.2.0', '@langchain/core@1.1.49'];
const AI_SDK = ['ai@7.0.173', '@ai-sdk/mcp@2.0.99'];
const SDK = '../../sdk/typescript/src/index.ts';

/** Where its packages are, with the SDK of this clone. */
const layOut = (example: string, folder: string): void => {
  const from = resolve('examples', example);
  for (const file of readdirSync(from)) {
    if (!file.endsWith('.mjs')) continue;
    copyFileSync(join(from, file), join(folder, file));
    const text = readFileSync(join(from, file), 'utf8');
    writeFileSync(join(folder, file), text.replace(SDK, pathToFileURL(resolve('sdk/typescript/src/index.ts')).href));
  }
};

const scene = async (t: TestContext) => {
  const { address, adminKey } = await startServer(t, { dir: tempDir(t) });
  const transport = httpTransport(address);
  const admin = callerWith(transport, adminKey);
  const agent = (id: string, registration: object) => registered(transport, admin, id, registration);
  const start = (folder: string, file: string, args: string[], env: Record<string, string>) => {
    const said = { text: '' };
    const child = spawn(process.execPath, [join(folder, file), ...args], {
      env: { ...process.env, PARLEY_URL: address, ...env },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    child.stdout.on('data', (piece) => {
      said.text += piece;
    });
    atEndOf(t, () => child.kill('SIGKILL'));
    return { child, said, ended: once(child, 'close') };
  };
  return { agent, start };
};

describe('Examples of frameworks', { skip: !isLong, timeout: 600_000 }, () => {
  it('a graph of LangGraph asks another one, which is killed in the middle and repeats no node', async (t) => {
    const { folder } = installOutside('example-langgraph', LANGGRAPH, ['--legacy-peer-deps']);
    layOut('langgraph', folder);
    const { agent, start } = await scene(t);
    const researcher = await agent('researcher', { dialect: 'native', capabilities: ['research'] });
    const editor = await agent('editor', { dialect: 'native', capabilities: [] });
    const env = { PARLEY_KEY: researcher.key };
    const first = start(folder, 'worker.mjs', [], { ...env, DIES_AT: 'write' });
    await eventually(() => assert.match(first.said.text, /ready/), 60_000);
    const requester = start(folder, 'requester.mjs', ['tides', 'thread-7'], { PARLEY_KEY: editor.key });
    const [, signal] = await first.ended;
    assert.equal(signal, 'SIGKILL');
    assert.match(first.said.text, /collecting/);
    const [held] = (await editor.call('GET', '/v1/tasks?status=claimed,in_progress')).body.tasks;
    assert.equal((await researcher.call('POST', `/v1/tasks/${held.id}/release`)).status, 200);
    const second = start(folder, 'worker.mjs', [], env);
    assert.deepEqual((await requester.ended)[0], 0);
    assert.equal(requester.said.text, 'REPORT: TWO TIDES A DAY\n');
    assert.deepEqual(second.said.text.split('\n').slice(0, 2), ['ready', 'writing']);
    const again = start(folder, 'requester.mjs', ['tides', 'thread-7'], { PARLEY_KEY: editor.key });
    await again.ended;
    assert.equal(again.said.text, 'REPORT: TWO TIDES A DAY\n');
    assert.equal((await editor.call('GET', '/v1/tasks')).body.tasks.length, 1);
  });

  it('a chat of the AI SDK finds an agent as a tool through MCP, and calls it', async (t) => {
    const { folder } = installOutside('example-ai-sdk', AI_SDK);
    layOut('vercel-ai', folder);
    const { agent, start } = await scene(t);
    const input = { type: 'object', properties: { topic: { type: 'string' } }, required: ['topic'] };
    const registration = { dialect: 'native', capabilities: ['research'], schemas: { research: { input } } };
    const researcher = await agent('researcher', registration);
    const host = await agent('chat', { dialect: 'native', capabilities: [] });
    const chat = start(folder, 'chat.mjs', ['tides'], { PARLEY_KEY: host.key });
    const [task] = await researcher.claim({ wait: 25 });
    assert.deepEqual(task.message.input, { topic: 'tides' });
    const output = { report: 'two a day' };
    const result = { kind: 'result', taskId: task.message.id, attempt: task.attempt, output };
    assert.equal((await researcher.send(result)).status, 202);
    assert.deepEqual((await chat.ended)[0], 0);
    assert.equal(chat.said.text, 'The tool says: {"report":"two a day"}\n');
  });
});
