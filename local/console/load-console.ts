import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ConsoleFiles, prepareFiles } from '../../console/serve-console.ts';

/** In a package, beside the program. */
const BUILT = join(import.meta.dirname, '..', 'console', 'dist');

/** Built before, or now. */
export const loadConsole = async (): Promise<ConsoleFiles> => {
  if (existsSync(BUILT))
    return prepareFiles(new Map(readdirSync(BUILT).map((name) => [name, readFileSync(join(BUILT, name))])));
  const { buildConsole } = await import('../../console/build.ts');
  return prepareFiles((await buildConsole()).files);
};
