import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { build } from 'esbuild';
import { FUNCTION_NAMES } from './functions.ts';

const ROOT = join(import.meta.dirname, '..');
export const BUNDLES = join(ROOT, 'dist', 'functions');

/** Parts of the SDK are CommonJS and call `require` for Node's own modules, which an ES module does not have. */
const REQUIRE = "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);";

/** Each function becomes a folder: `index.mjs`, and a chunk for each module that is imported only when it is needed. */
const bundleFunction = (name: string) =>
  build({
    entryPoints: { index: join(ROOT, 'functions', `${name}.ts`) },
    outdir: join(BUNDLES, name),
    outExtension: { '.js': '.mjs' },
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node24',
    mainFields: ['module', 'main'],
    minify: true,
    sourcemap: 'linked',
    sourcesContent: false,
    legalComments: 'none',
    banner: { js: REQUIRE },
    absWorkingDir: ROOT,
    logLevel: 'warning',
  });

export const bundle = async (): Promise<void> => {
  await rm(BUNDLES, { recursive: true, force: true });
  await Promise.all(FUNCTION_NAMES.map(bundleFunction));
};

if (import.meta.main) await bundle();
