import { join } from 'node:path';
import { build } from 'esbuild';
import { ESBUILD_OPTIONS } from '../shared/kernel/esbuild-options.ts';

const ROOT = join(import.meta.dirname, '..');

export const bundleWaiter = async (folder: string): Promise<string> => {
  await build({
    ...ESBUILD_OPTIONS,
    entryPoints: { waiter: join(ROOT, 'waiter', 'main.ts') },
    outdir: folder,
    outExtension: { '.js': '.mjs' },
    splitting: true,
    sourcemap: 'linked',
    absWorkingDir: ROOT,
  });
  return join(folder, 'waiter.mjs');
};

if (import.meta.main) await bundleWaiter(process.argv[2] ?? join(ROOT, 'dist', 'waiter'));
