import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

const SOURCE = join(import.meta.dirname, 'src');

export interface BuiltConsole {
  /** By name. Those whose name has a hash never change. */
  files: Map<string, Buffer>;
  /** What it was made from, relative to the root. */
  inputs: string[];
}

export const buildConsole = async (): Promise<BuiltConsole> => {
  // A package has the result and no bundler.
  const { build } = await import('esbuild');
  const { outputFiles, metafile } = await build({
    entryPoints: { app: join(SOURCE, 'main.tsx') },
    absWorkingDir: join(import.meta.dirname, '..'),
    outdir: SOURCE,
    tsconfig: join(import.meta.dirname, 'tsconfig.json'),
    bundle: true,
    minify: true,
    format: 'esm',
    target: 'es2023',
    write: false,
    metafile: true,
    legalComments: 'none',
    logLevel: 'warning',
  });
  const files = new Map<string, Buffer>();
  const names = { script: '', style: '' };
  for (const { path, contents } of outputFiles) {
    const kind = path.endsWith('.css') ? 'style' : 'script';
    const hash = createHash('sha256').update(contents).digest('hex').slice(0, 12);
    names[kind] = `app-${hash}.${kind === 'style' ? 'css' : 'js'}`;
    files.set(names[kind], Buffer.from(contents));
  }
  const page = await readFile(join(SOURCE, 'index.html'), 'utf8');
  const filled = page.replace('{{script}}', names.script).replace('{{style}}', names.style);
  files.set('index.html', Buffer.from(filled));
  files.set('icon.svg', await readFile(join(SOURCE, 'icon.svg')));
  return { files, inputs: Object.keys(metafile.inputs) };
};
