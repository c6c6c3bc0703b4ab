import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { after, describe, it } from 'node:test';
import { promisify } from 'node:util';
import manifest from '../../package.json' with { type: 'json' };
import { packAll } from '../../release/pack.ts';
import sdkManifest from '../../sdk/typescript/package.json' with { type: 'json' };
import { eventually } from '../support/eventually.ts';
import { nodeFolder, OLDEST_NODE } from '../support/node-version.ts';
import { lastingPort, tempDir } from '../support/server-process.ts';

const OWNER = { after };
const ROOT = resolve(import.meta.dirname, '../..');
const run = promisify(execFile);
const README = readFileSync(join(ROOT, 'README.md'), 'utf8');

const home = tempDir(OWNER);
const folder = join(home, 'empty');
mkdirSync(folder);
const [cli = '', sdk = '', wheel = ''] = await packAll(join(home, 'packages'));
// Whatever else they needed, the network would have to have it.
await run('npm', ['install', '--offline', '--no-audit', '--no-fund', cli, sdk], { cwd: folder });

const {
  NODE_OPTIONS: _options,
  NODE_COMPILE_CACHE: _cache,
  NODE_TEST_CONTEXT: _context,
  PARLEY_KEY: _key,
  ...ENV
} = process.env;
const port = await lastingPort();
const url = `http://127.0.0.1:${port}`;
const env = {
  ...ENV,
  PATH: `${nodeFolder(OLDEST_NODE.server)}:${ENV.PATH?.split(':')
    .filter((one) => !one.includes('node_modules'))
    .join(':')}`,
  XDG_CONFIG_HOME: home,
  PARLEY_URL: url,
};

const sizeOf = (path: string): number =>
  statSync(path).isDirectory()
    ? readdirSync(path).reduce((sum, name) => sum + sizeOf(join(path, name)), 0)
    : statSync(path).size;

const blocksBelow = (heading: string, language: string): string[] => {
  const [, section = ''] = README.split(`## ${heading}\n`);
  const [text = ''] = section.split('\n## ');
  return [...text.matchAll(new RegExp(`\`\`\`${language}\n(.*?)\`\`\``, 'gs'))].map(([, block = '']) => block);
};

/** Runs it until it is stopped: npx passes no signal on, so that the whole group gets it. */
const startInBackground = async (command: string, sign: RegExp, more: Record<string, string> = {}) => {
  const child = spawn('bash', ['-c', command], {
    cwd: folder,
    env: { ...env, ...more },
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const exited = once(child, 'exit');
  const said = { text: '' };
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (text) => {
      said.text += text;
    });
  }
  const stop = async (): Promise<void> => {
    if (child.pid && child.exitCode === null && child.signalCode === null) process.kill(-child.pid, 'SIGTERM');
    await exited;
  };
  after(stop);
  await eventually(() => assert.match(said.text, sign));
  return { said, stop };
};

describe('the packages', () => {
  it('have the version of package.json, and contain no package of others to install', () => {
    assert.deepEqual(
      readdirSync(join(folder, 'node_modules'))
        .filter((name) => !name.startsWith('.'))
        .sort(),
      ['parley-cli', 'parley-sdk'],
    );
    for (const name of ['parley-cli', 'parley-sdk']) {
      const { version, dependencies } = JSON.parse(
        readFileSync(join(folder, 'node_modules', name, 'package.json'), 'utf8'),
      );
      assert.deepEqual([version, dependencies], [manifest.version, undefined]);
    }
    assert.equal(sdkManifest.version, manifest.version);
    assert.ok(wheel.includes(`-${manifest.version}-`));
  });

  it('are small, and each program is one file', () => {
    const installed = join(folder, 'node_modules', 'parley-cli');
    assert.ok(sizeOf(installed) < 15_000_000, `${sizeOf(installed)} bytes`);
    assert.deepEqual(readdirSync(join(installed, 'bin')).sort(), ['aws-records.mjs', 'parley.mjs', 'server.mjs']);
    assert.match(readFileSync(join(installed, 'THIRD-PARTY-LICENSES'), 'utf8'), /^zod .*\(MIT\)$/m);
  });

  it('have types that a program can be checked against', async () => {
    const program = `import { connect, Retry, type TaskContext } from 'parley-sdk';
const worker = connect({ url: 'http://x', key: 'k' }).worker({ concurrency: 8 });
worker.on<{ a: number }, number>('sum', async (task, ctx: TaskContext) => {
  if (task.attempt > 3) throw new Retry('busy', { after: '30s' });
  return ctx.step('sum', () => task.input.a + 1);
});
// @ts-expect-error a duration has a unit
connect().request('sum', {}, { ttl: '5 parsecs' });
`;
    writeFileSync(join(folder, 'program.ts'), program);
    const options = [
      '--noEmit',
      '--strict',
      '--skipLibCheck',
      'false',
      '--target',
      'es2023',
      '--lib',
      'es2023,dom',
      '--types',
      '',
    ];
    for (const resolution of [
      ['--module', 'nodenext'],
      ['--module', 'esnext', '--moduleResolution', 'bundler'],
    ]) {
      await run(join(ROOT, 'node_modules/.bin/tsc'), [...options, ...resolution, 'program.ts'], { cwd: folder });
    }
  });

  it("run the SDK's own examples of a test and of a Lambda function, on the oldest Node.js of the server", async () => {
    const readme = readFileSync(join(ROOT, 'sdk', 'typescript', 'README.md'), 'utf8');
    const exampleBelow = (heading: string): string =>
      new RegExp(`## ${heading}\n[\\s\\S]*?\`\`\`ts\n([\\s\\S]*?)\`\`\``).exec(readme)?.[1] ?? assert.fail(heading);
    writeFileSync(
      join(folder, 'tested.mjs'),
      `import assert from 'node:assert/strict';\nimport { Retry } from 'parley-sdk';\n${exampleBelow('Testing a worker')}`,
    );
    writeFileSync(
      join(folder, 'lambda.mjs'),
      `import { startTestParley } from 'parley-sdk/testing';
const server = await startTestParley();
const requester = await server.agent('requester');
const agent = await server.agent('worker', { capabilities: ['security.briefing'] });
const connect = () => agent;
const brief = (input) => input.scope;
${exampleBelow('On AWS Lambda')}
const request = requester.request('security.briefing', { scope: 'daily' });
const running = handler({}, { getRemainingTimeInMillis: () => 60_000 });
console.log(await request.result());
// Time stands still for the claim that waits, too.
await request.accepted;
const ended = setInterval(() => server.advance('1s'), 20);
console.log(JSON.stringify(await running));
clearInterval(ended);
await server.stop();
`,
    );
    const node = join(nodeFolder(OLDEST_NODE.server), 'node');
    await run(node, ['tested.mjs'], { cwd: folder, env });
    const { stdout } = await run(node, ['lambda.mjs'], { cwd: folder, env });
    assert.equal(stdout, 'daily\n{"completed":1,"failed":0,"aborted":0}\n');
  });

  it("live through the README's first task, in an empty folder, on the oldest Node.js", {
    timeout: 100_000,
  }, async () => {
    const { said: greeting } = await startInBackground(`npx parley up --port ${port}`, /Ctrl-C stops it/);
    assert.doesNotMatch(greeting.text, /warning/i);
    const [work = '', send = ''] = blocksBelow('A first task', 'sh');
    const echo = await startInBackground(work, /waits for security\.briefing/);
    const { stdout } = await run('bash', ['-euc', send], { cwd: folder, env });
    assert.match(stdout, /^"All quiet\."$/m);
    assert.match(stdout, /\tcompleted\tsecurity\.briefing\thigh\t/);
    await echo.stop();
    await run('npx', ['parley', 'backup', join(home, 'backup')], { cwd: folder, env });
    assert.ok(existsSync(join(home, 'backup', 'backup.json')));

    const key = async (name: string, ...more: string[]): Promise<string> =>
      (await run('npx', ['parley', 'agents', 'add', name, ...more], { cwd: folder, env })).stdout.trim();
    const [worker = '', requester = ''] = blocksBelow('In code', 'ts');
    const [workerKey, requesterKey] = [
      await key('worker', '--capabilities', 'security.briefing'),
      await key('requester'),
    ];
    writeFileSync(
      join(folder, 'worker.mjs'),
      `import { connect } from 'parley-sdk';\nconst collect = (input) => [input.scope];\nconst write = async (facts) => facts.join();\n${worker}`,
    );
    writeFileSync(
      join(folder, 'requester.mjs'),
      `import { connect } from 'parley-sdk';\n${requester}console.log(JSON.stringify(brief));`,
    );
    const node = join(nodeFolder(OLDEST_NODE.sdk), 'node');
    const working = await startInBackground(`${node} worker.mjs`, /^$/, { PARLEY_KEY: workerKey });
    const asked = await run(node, ['requester.mjs'], { cwd: folder, env: { ...env, PARLEY_KEY: requesterKey } });
    assert.deepEqual(JSON.parse(asked.stdout), { format: 'markdown', content: 'daily' });
    await working.stop();
    assert.equal(working.said.text, '');

    const site = join(home, 'site');
    await run('python3', ['-m', 'pip', 'install', '--quiet', '--no-index', '--target', site, wheel]);
    const python = `import parley_sdk, threading
worker = parley_sdk.connect(key="${workerKey}").worker()
worker.on("security.briefing")(lambda task, ctx: task.input["scope"].upper())
threading.Thread(target=worker.run).start()
print(parley_sdk.connect().request("security.briefing", {"scope": "daily"}).result(timeout=30))
worker.stop()
`;
    const said = await run('python3', ['-c', python], {
      cwd: folder,
      env: { ...env, PYTHONPATH: site, PARLEY_KEY: requesterKey },
    });
    assert.equal(said.stdout.trim(), 'DAILY');
    assert.ok(existsSync(join(site, 'parley_sdk', 'py.typed')));
    assert.equal(dirname(cli), dirname(wheel));
  });
});
