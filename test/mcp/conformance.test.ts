import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { callerWith, httpTransport, registered } from '../support/api.ts';
import { installOutside } from '../support/install-outside.ts';
import { startServer, tempDir } from '../support/server-process.ts';
import { FIXTURE_SCHEMAS, FIXTURES, workAsFixture } from './fixture-agent.ts';

const OWNER = { after };
/** It needs a newer Node.js than the project promises to install on, so it stands outside the lock file. */
const SUITE = '@modelcontextprotocol/conformance@0.2.0-alpha.12';
const BASELINE = join(import.meta.dirname, 'baseline.txt');

/** The suite sends no key: this adds one. */
const startFront = async (address: string, key: string): Promise<string> => {
  const front = createServer((incoming, outgoing) => {
    const headers = { ...incoming.headers, authorization: `Bearer ${key}` };
    const sent = request(new URL(incoming.url ?? '/', address), { method: incoming.method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    outgoing.on('close', () => sent.destroy());
    sent.on('error', () => outgoing.destroy());
    incoming.pipe(sent);
  });
  await new Promise<void>((done) => front.listen(0, '127.0.0.1', done));
  after(() => {
    front.closeAllConnections();
    front.close();
  });
  return `http://127.0.0.1:${(front.address() as AddressInfo).port}`;
};

/** `scenario: passed failed`, of each line of the summary. */
const readSummary = (text: string): Map<string, number> =>
  new Map(
    [...text.matchAll(/^[✓✗] ([\w-]+): \d+ passed, (\d+) failed$/gm)].map(([, name = '', failed]) => [
      name,
      Number(failed),
    ]),
  );

/** Scenarios that fail, each with the reason. */
const readBaseline = (): Map<string, string> =>
  new Map(
    readFileSync(BASELINE, 'utf8')
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'))
      .map((line) => [line.split(': ')[0] ?? '', line.split(': ').slice(1).join(': ')]),
  );

describe('the conformance suite of MCP', () => {
  it('passes for revision 2026-07-28, but for what the baseline names with its reason', {
    timeout: 400_000,
  }, async () => {
    const { folder } = installOutside('mcp-conformance', [SUITE]);
    const main = join(folder, 'node_modules/@modelcontextprotocol/conformance/dist/index.js');
    const { address, adminKey } = await startServer(OWNER, { dir: tempDir(OWNER) });
    const transport = httpTransport(address);
    const admin = callerWith(transport, adminKey);
    const host = await registered(transport, admin, 'host', { dialect: 'native', capabilities: [] });
    const capabilities = Object.keys(FIXTURES);
    const fixture = await registered(transport, admin, 'fixture', {
      dialect: 'native',
      capabilities,
      schemas: FIXTURE_SCHEMAS,
    });
    const stop = new AbortController();
    const working = workAsFixture(fixture, stop.signal);
    const url = `${await startFront(address, host.key)}/mcp`;
    const args = [main, 'server', '--url', url, '--requirements', '2026-07-28'];
    // It ends with 1 where anything fails.
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: folder, maxBuffer: 1e8 }).catch(
      (error: { stdout: string }) => error,
    );
    stop.abort();
    await working;
    const summary = readSummary(stdout);
    assert.ok(summary.size >= 37, stdout.slice(-2000));
    const baseline = readBaseline();
    const failed = [...summary].filter(([, count]) => count > 0).map(([name]) => name);
    assert.deepEqual(failed.sort(), [...baseline.keys()].sort());
    for (const [name, reason] of baseline) assert.ok(reason.length > 20, `${name} has no reason`);
  });
});
