import { join } from 'node:path';
import { build } from 'esbuild';
import { ESBUILD_OPTIONS } from '../shared/kernel/esbuild-options.ts';

const ROOT = join(import.meta.dirname, '..');

export const bundleRelay = async (folder: string, entry = join(ROOT, 'relay', 'main.ts')): Promise<string> => {
  const outfile = join(folder, 'relay.mjs');
  await build({
    ...ESBUILD_OPTIONS,
    entryPoints: [entry],
    outfile,
    sourcemap: 'inline',
    absWorkingDir: ROOT,
  });
  return outfile;
};

if (import.meta.main) await bundleRelay(process.argv[2] ?? join(ROOT, 'dist', 'relay'));
