import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { type Config, ConfigError, defineConfig } from '../shared/config/config.ts';
import { withTracingEnvironment } from '../shared/config/tracing-environment.ts';
import { StartError } from './cli-options.ts';

/** Imported here, so that a mistake in it is reported like any other. */
export const loadConfig = async (file: string | undefined): Promise<Config> => {
  const config =
    file === undefined
      ? (await import('../parley.config.ts')).default
      : defineConfig(file.endsWith('.json') ? readJson(file) : await importModule(file));
  return withTracingEnvironment(config, process.env);
};

/** Reads it once more: Node.js keeps a module by its address. */
export const reloadConfig = async (file = OWN_CONFIG): Promise<Config> => {
  // In a package it is a part of the program.
  if (!existsSync(file)) throw new StartError(`There is no ${file} to read again. Name a file with --config.`);
  const config = defineConfig(
    file.endsWith('.json') ? readJson(file) : await importModule(file, `?read=${Date.now()}`),
  );
  return withTracingEnvironment(config, process.env);
};

const OWN_CONFIG = fileURLToPath(new URL('../parley.config.ts', import.meta.url));

const readJson = (file: string) => {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch (cause) {
    throw new StartError(`${file} cannot be read as JSON: ${describe(cause)}.`, { cause });
  }
};

/** What it exports may be the plain object: outside the clone there is no `defineConfig` to import. */
const importModule = async (file: string, query = '') => {
  try {
    return (await import(pathToFileURL(resolve(file)).href + query)).default;
  } catch (cause) {
    if (cause instanceof ConfigError) throw cause;
    throw new StartError(`${file} cannot be read: ${describe(cause)}.`, { cause });
  }
};

const describe = (cause: unknown): string =>
  (cause instanceof Error ? cause.message : String(cause)).replace(/\.$/, '');
