import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../shared/config/config.ts';
import { FUNCTION_NAMES } from './function-specs.ts';

export const CONFIG_MODULE = 'parley-config.mjs';

/** For the bundles of all functions in a folder. */
export const writeConfigModules = (folder: string, config: Config): void => {
  const code = `export default ${JSON.stringify(config)};\n`;
  for (const name of FUNCTION_NAMES) writeFileSync(join(folder, name, CONFIG_MODULE), code);
};
