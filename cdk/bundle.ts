import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { build, type Plugin } from 'esbuild';
import { FUNCTION_NAMES } from './functions.ts';

const ROOT = join(import.meta.dirname, '..');
const DIST = join(ROOT, 'dist');
const BUNDLES = join(DIST, 'functions');

/** Parts of the SDK are CommonJS and call `require` for Node's own modules, which an ES module does not have. */
const REQUIRE = "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);";

/** Puts another configuration in the place of `parley.config.ts`. */
const configuredBy = (file: string): Plugin => ({
  name: 'another-configuration',
  setup: ({ onResolve }) => {
    onResolve({ filter: /\/parley\.config\.ts$/ }, () => ({ path: file }));
  },
});

/** Each function becomes a folder: `index.mjs`, and a chunk for each module that is imported only when it is needed. */
const bundleFunction = (name: string, folder: string, plugins: Plugin[]) =>
  build({
    entryPoints: { index: join(ROOT, 'functions', `${name}.ts`) },
    outdir: join(folder, name),
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
    plugins,
    banner: { js: REQUIRE },
    absWorkingDir: ROOT,
    logLevel: 'warning',
  });

const bundleInto = async (folder: string, config?: string): Promise<void> => {
  const plugins = config === undefined ? [] : [configuredBy(config)];
  await Promise.all(FUNCTION_NAMES.map((name) => bundleFunction(name, folder, plugins)));
};

export const bundle = async (): Promise<void> => {
  await rm(BUNDLES, { recursive: true, force: true });
  await bundleInto(BUNDLES);
};

/**
 * Bundles into a folder that is there only while it is used, so that two that run at once do not take each other's away.
 * It is as deep as any other, because the source maps hold relative paths.
 */
export const withBundles = async <T>(use: (folder: string) => T, config?: string): Promise<T> => {
  await mkdir(DIST, { recursive: true });
  const folder = await mkdtemp(join(DIST, 'functions-'));
  try {
    await bundleInto(folder, config);
    return use(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
};

if (import.meta.main) await bundle();
