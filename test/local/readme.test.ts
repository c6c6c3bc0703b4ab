import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, it } from 'node:test';
import { promisify } from 'node:util';
import packageJson from '../../package.json' with { type: 'json' };
import { defineConfig } from '../../shared/config/config.ts';
import { STATUS_BY_CODE } from '../../shared/kernel/errors.ts';
import { startServer, tempDir } from '../support/server-process.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const readPage = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

const README = readPage('README.md');
/** Every page that users read. */
const PAGES = ['README.md', ...globSync('docs/{concepts,guides,operations,reference}/*.md', { cwd: ROOT })].map(
  (path) => ({ path, text: readPage(path) }),
);

/** The shell commands below a heading, in order. */
const commandsBelow = (page: string, heading: string): string => {
  const [, section = ''] = readPage(page).split(`## ${heading}\n`);
  const [text = ''] = section.split('\n## ');
  return [...text.matchAll(/```sh\n(.*?)```/gs)].map(([, commands]) => commands).join('\n');
};

describe('docs/guides/http.md', () => {
  it('tells a newcomer commands that work, from the first agent to the result in the inbox', async (t) => {
    const dir = tempDir(t);
    const server = await startServer(t, { dir });
    const script = commandsBelow('docs/guides/http.md', 'A task, step by step')
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
});

describe('docs/guides/projects.md', () => {
  it('has commands that create a project, list it, replace its key and remove it', async (t) => {
    const server = await startServer(t, { dir: tempDir(t) });
    const script = commandsBelow('docs/guides/projects.md', 'On one machine').replaceAll('\ncurl', '\necho; curl');
    const env = { ...process.env, URL: server.address, ADMIN: server.adminKey };
    const { stdout } = await promisify(execFile)('bash', ['-euc', script], { env });
    const [created, { projects }, replaced, removed] = stdout.split('\n').map((line) => line && JSON.parse(line));
    assert.match(created.key, /^prl_acme\.@owner\./);
    assert.deepEqual(projects[0], created.project);
    assert.notEqual(replaced.key, created.key);
    assert.equal(removed, '');
    assert.equal((await server.admin.call('GET', '/v1/projects')).body.projects.length, 1);
  });
});

describe('the README', () => {
  it('names only npm scripts that exist, and CI runs its commands', () => {
    const named = [...README.matchAll(/npm (?:run )?((?:start|test|check|bench|pack)(?::\w+)?)/g)].map(
      ([, script]) => script ?? '',
    );
    for (const script of named) assert.ok(script in packageJson.scripts, `npm run ${script}`);
    const ci = readPage('.ci/run');
    for (const command of ['npm ci', 'npm run check']) {
      assert.ok(ci.split('\n').includes(command), command);
      assert.ok(README.includes(command), command);
    }
  });
});

describe('the docs', () => {
  it('name the codes of problems with their status, and those that ask a client for something', () => {
    const codes: Record<string, number> = STATUS_BY_CODE;
    const named = PAGES.flatMap(({ path, text }) =>
      [...text.matchAll(/`(\d{3}) ([a-z]+_[a-z_]+|overloaded)`/g)].map(([, status, code = '']) => ({
        path,
        code,
        status: Number(status),
      })),
    );
    for (const { path, code, status } of named) assert.equal(codes[code], status, `${code} in ${path}`);
    const found = new Set(named.map(({ code }) => code));
    const asking = ['too_many_in_flight', 'overloaded', 'too_many_waits', 'id_reserved', 'agent_removed'];
    for (const code of [...asking, 'content_damaged', 'storage_full', 'too_large', 'id_reused']) {
      assert.ok(found.has(code), code);
    }
  });

  it('name the most that a body may have, by what it is for', () => {
    const { limits, cards } = defineConfig({ projects: { default: { domains: {} } } });
    const [record, box] = [4 * limits.extensionBytes, 8192 + cards.perBox * 64].map((bytes) =>
      Math.floor(bytes / 1024),
    );
    assert.equal(limits.bodyBytes, 4 * 1024 * 1024);
    const page = readPage('docs/operations/limits.md');
    const rows = [
      /\| .*`\/v1\/messages`.* \| 4 MB \|/,
      /\| `\/v1\/manifest` \| 1 MB \|/,
      new RegExp(`\\| agents, tools.* \\| ${record} KB \\|`),
      new RegExp(`\\| \`/v1/boxes\` \\| ${box} KB \\|`),
      /\| everything else \| 64 KB \|/,
    ];
    for (const row of rows) assert.match(page, row);
  });

  it('name only settings that exist', () => {
    const config = defineConfig({ projects: { default: { domains: {} } }, aws: { stage: 'test' } });
    /** Of a registration, or optional. */
    const others = [
      'limits.messagesPerMinute',
      'limits.callsPerMinute',
      'tasks.rememberMs',
      'aws.relay',
      'aws.domain',
      'aws.edge',
      'aws.streamParallelism',
      'aws.waiter',
      'aws.alarms.email',
    ];
    // The reference is generated from the schema itself.
    for (const { path, text } of PAGES.filter(({ path }) => path !== 'docs/reference/configuration.md')) {
      for (const [, setting = ''] of text.matchAll(
        /`((?:tasks|turns|cards|events|agents|limits|aws)\.[a-z][A-Za-z]*(?:\.[a-zA-Z]+)*)[:`]/g,
      )) {
        const value = setting.split('.').reduce<unknown>((inner, name) => Object(inner)[name], config);
        assert.ok(value !== undefined || others.includes(setting), `${setting} in ${path}`);
      }
    }
  });

  it('quote only log lines that the code writes', () => {
    const sources = globSync('{functions,local,shared}/**/*.ts', { cwd: ROOT }).map(readPage).join('\n');
    const quoted = ['docs/guides/one-machine.md', 'docs/operations/runbook.md'].flatMap((path) =>
      [
        ...readPage(path).matchAll(/`((?!npm|aws|docker|ulimit|Task timed|Runtime)[A-Za-z]+:?(?: [a-z,()-]+){1,7})`/g),
      ].map(([, line = '']) => line),
    );
    assert.ok(quoted.length >= 8);
    for (const line of quoted) assert.ok(sources.includes(line), line);
  });
});
