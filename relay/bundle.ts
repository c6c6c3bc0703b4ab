import { join } from 'node:path';
import { build } from 'esbuild';

const ROOT = join(import.meta.dirname, '..');

/** Parts of the packages are CommonJS and call `require` for Node's own modules, which an ES module does not have. */
const REQUIRE = "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);";

/** The whole relay as one file; for the bench, another beginning of it. */
export const bundleRelay = async (folder: string, entry = join(ROOT, 'relay', 'main.ts')): Promise<string> => {
  const outfile = join(folder, 'relay.mjs');
  await build({
    entryPoints: [entry],
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node24',
    mainFields: ['module', 'main'],
    minify: true,
    sourcemap: 'inline',
    sourcesContent: false,
    legalComments: 'none',
    banner: { js: REQUIRE },
    absWorkingDir: ROOT,
    logLevel: 'warning',
  });
  return outfile;
};

if (import.meta.main) await bundleRelay(process.argv[2] ?? join(ROOT, 'dist', 'relay'));
