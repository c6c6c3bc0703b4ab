import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { promisify } from 'node:util';
import packageJson from '../../package.json' with { type: 'json' };
import { defineConfig } from '../../shared/config/config.ts';
import { STATUS_BY_CODE } from '../../shared/kernel/errors.ts';
import { startServer, tempDir } from '../support/server-process.ts';

const README = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');

/** The shell commands below a heading, in order. */
const commandsBelow = (heading: string): string => {
  const [, section = ''] = README.split(`## ${heading}\n`);
  const [text = ''] = section.split('\n## ');
  return [...text.matchAll(/```sh\n(.*?)```/gs)].map(([, commands]) => commands).join('\n');
};

describe('the README', () => {
  it('tells a newcomer commands that work, from the first agent to the result in the inbox', async (t) => {
    const dir = tempDir(t);
    const server = await startServer(t, { dir });
    const script = commandsBelow('A first task')
      .replace('http://127.0.0.1:4100', server.address)
      .replace('.parley/admin-key', `${dir}/admin-key`)
      .replaceAll('\ncurl', '\necho; curl');
    const { stdout } = await promisify(execFile)('bash', ['-euc', script]);
    const [accepted, claims, reported, inbox, task] = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    assert.equal(accepted.duplicate, false);
    assert.equal(claims.tasks[0].message.payload.task, 'security.briefing');
    assert.equal(reported.taskId, accepted.taskId);
    assert.equal(inbox.messages[0].payload.result.content, 'All quiet.');
    assert.deepEqual(
      task.history.map(({ event }: { event: string }) => event),
      ['requested', 'claimed', 'completed'],
    );
  });

  it('names the codes of problems with their status, and those that ask a client for something', () => {
    const told = [...README.matchAll(/`(\d{3}) ([a-z]+_[a-z_]+|overloaded)`/g)].map(([, status, code = '']) => [
      code,
      Number(status),
    ]);
    const codes: Record<string, number> = STATUS_BY_CODE;
    for (const [code = '', status] of told) assert.equal(codes[code], status, String(code));
    const names = new Set(told.map(([code]) => code));
    const asking = ['too_many_in_flight', 'overloaded', 'too_many_waits', 'id_reserved', 'agent_removed'];
    for (const code of [...asking, 'content_damaged', 'storage_full', 'too_large', 'id_reused']) {
      assert.ok(names.has(code), code);
    }
  });

  it('names the most that a body may have, by what it is for', () => {
    const { limits, cards } = defineConfig({ projects: { default: { domains: {} } } });
    const kilobytes = [4 * limits.extensionBytes, 8192 + cards.perBox * 64].map((bytes) => Math.floor(bytes / 1024));
    assert.equal(limits.bodyBytes, 4 * 1024 * 1024);
    for (const size of ['4 MB', '1 MB', '64 KB', ...kilobytes.map((size) => `${size} KB`)]) {
      assert.ok(README.includes(size), size);
    }
  });

  it('names only npm scripts that exist, and CI runs its commands', () => {
    const named = [...README.matchAll(/npm (?:run )?((?:start|test|check|bench)(?::\w+)?)/g)].map(
      ([, script]) => script ?? '',
    );
    for (const script of named) assert.ok(script in packageJson.scripts, `npm run ${script}`);
    const ci = readFileSync(new URL('../../.ci/run', import.meta.url), 'utf8');
    for (const command of ['npm ci', 'npm run check']) {
      assert.ok(ci.split('\n').includes(command), command);
      assert.ok(README.includes(command), command);
    }
  });
});
