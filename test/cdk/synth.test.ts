import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { z } from 'zod';
import { FUNCTION_NAMES } from '../../cdk/function-specs.ts';

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, '../..');
const GUARD = join(import.meta.dirname, 'no-network.ts');

/** A cold start compiles what is loaded at the start: the hot path's is kept small. */
const INGEST_BYTES = 500_000;
const IMPORTED = /\b(?:from|import) ?"\.\/([^"]+)"/g;
const LOADED_ON_DEMAND = /\bimport\("\.\/([^"]+)"\)/g;

const loadedAtTheStart = (folder: string, file = 'index.mjs', seen = new Set<string>()): string[] => {
  seen.add(join(folder, file));
  for (const [, imported = ''] of readFileSync(join(folder, file), 'utf8').matchAll(IMPORTED)) {
    if (!seen.has(join(folder, imported))) loadedAtTheStart(folder, imported, seen);
  }
  return [...seen];
};

const Asset = z.object({ displayName: z.string(), source: z.object({ path: z.string(), packaging: z.string() }) });

describe('cdk synth', () => {
  let folder = '';
  let connections = '';
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'parley-synth-'));
    connections = join(folder, 'connections');
  });
  // The command line leaves a process behind for a moment that writes to its home.
  after(() => rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }));

  /** No account, no home, no network: whatever the machine is configured with is out of reach. */
  const offline = () => ({
    PATH: process.env.PATH,
    HOME: folder,
    CONNECTIONS_FILE: connections,
    NODE_OPTIONS: `--import=${GUARD}`,
  });

  it('would be caught by the guard if it opened a connection', async () => {
    const connect = "require('node:net').connect(1, '127.0.0.1')";
    await assert.rejects(run(process.execPath, ['-e', connect], { env: offline() }), /there is no network/);
    assert.match(readFileSync(connections, 'utf8'), /127\.0\.0\.1/);
    await rm(connections);
  });

  it('needs neither an account nor a network nor Docker, and brings a bundle for every function', async () => {
    const out = join(folder, 'out');
    const cdk = join(ROOT, 'node_modules/aws-cdk/bin/cdk');
    await run(process.execPath, [cdk, 'synth', '--quiet', '--output', out], { cwd: ROOT, env: offline() });
    assert.ok(!existsSync(connections), existsSync(connections) ? readFileSync(connections, 'utf8') : '');
    const { files } = z
      .object({ files: z.record(z.string(), Asset) })
      .parse(JSON.parse(readFileSync(join(out, 'Parley.assets.json'), 'utf8')));
    const bundles = Object.values(files).filter(({ source }) => source.packaging === 'zip');
    assert.deepEqual(bundles.map(({ displayName }) => displayName.split('/')[0]).sort(), [...FUNCTION_NAMES].sort());
    for (const { displayName, source } of bundles) {
      const folder = join(out, source.path);
      const code = readFileSync(join(folder, 'index.mjs'), 'utf8');
      assert.match(code, /\bas handler\b/);
      assert.match(code, /\/\/# sourceMappingURL=index\.mjs\.map\s*$/);
      if (displayName.startsWith('ingest/')) {
        const bytes = loadedAtTheStart(folder).reduce((sum, file) => sum + statSync(file).size, 0);
        assert.ok(bytes < INGEST_BYTES, `ingest loads ${bytes} bytes`);
      }
      const onDemand = new Set([...code.matchAll(LOADED_ON_DEMAND)].map(([, file = '']) => file));
      for (const file of onDemand) assert.notDeepEqual(Object.keys(await import(join(folder, file))), []);
    }
  });
});
