import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { z } from 'zod';
import { withBundles } from '../../cdk/bundle.ts';
import { FUNCTION_NAMES } from '../../cdk/function-specs.ts';
import { median } from '../numbers.ts';

export interface Bundle {
  name: string;
  /** The entry and its static imports. */
  loadedBytes: number;
  lazyBytes: number;
  importMs: number;
  fastestImportMs: number;
  /** CPU of all threads: unlike wall time, it hardly depends on the machine's other load. */
  importCpuMs: number;
}

export const measureBundles = (processes: number): Promise<Bundle[]> =>
  withBundles((bundles) => FUNCTION_NAMES.map((name) => measureBundle(join(bundles, name), name, processes)));

const measureBundle = (folder: string, name: string, processes: number): Bundle => {
  const loaded = importedFrom(folder, 'index.mjs');
  const all = readdirSync(folder).filter((file) => file.endsWith('.mjs'));
  const bytesOf = (files: string[]): number => files.reduce((sum, file) => sum + statSync(join(folder, file)).size, 0);
  const imports = Array.from({ length: processes }, () => imported(join(folder, 'index.mjs')));
  const times = imports.map(({ ms }) => ms);
  return {
    name,
    loadedBytes: bytesOf([...loaded]),
    lazyBytes: bytesOf(all.filter((file) => !loaded.has(file))),
    importMs: median(times),
    fastestImportMs: Math.min(...times),
    importCpuMs: median(imports.map(({ cpuMs }) => cpuMs)),
  };
};

/** esbuild's output format; dynamic imports do not match. */
const STATIC_IMPORT = /(?:from|import)"\.\/([^"]+)"/g;

const importedFrom = (folder: string, file: string, seen = new Set<string>()): Set<string> => {
  if (seen.has(file)) return seen;
  seen.add(file);
  for (const [, imported = ''] of readFileSync(join(folder, file), 'utf8').matchAll(STATIC_IMPORT))
    importedFrom(folder, imported, seen);
  return seen;
};

const ENVIRONMENT = {
  TABLE_NAME: 'table',
  BUCKET_NAME: 'bucket',
  FAILURE_BUCKET_NAME: 'failures',
  QUEUE_URL_PREFIX: 'https://sqs.us-east-1.amazonaws.com/000000000000/parley-',
  DELAY_QUEUE_URL: 'https://sqs.us-east-1.amazonaws.com/000000000000/delay',
  STAGE: 'bench',
  AWS_REGION: 'us-east-1',
  AWS_ACCESS_KEY_ID: 'none',
  AWS_SECRET_ACCESS_KEY: 'none',
  POWERTOOLS_SERVICE_NAME: 'bench',
  POWERTOOLS_METRICS_NAMESPACE: 'Parley',
};

const Imported = z.object({ ms: z.number(), cpuMs: z.number() });

/** In a new process: from the first byte read to the handler. */
const imported = (file: string): z.output<typeof Imported> => {
  const code = `
    const begun = performance.now();
    const cpu = process.cpuUsage();
    await import(${JSON.stringify(pathToFileURL(file).href)});
    const { user, system } = process.cpuUsage(cpu);
    console.log(JSON.stringify({ ms: performance.now() - begun, cpuMs: (user + system) / 1000 }));
    process.exit();`;
  const args = ['--input-type=module', '--eval', code];
  const said = execFileSync(process.execPath, args, { env: ENVIRONMENT, encoding: 'utf8' });
  return Imported.parse(JSON.parse(said.trim().split('\n').at(-1) ?? ''));
};
