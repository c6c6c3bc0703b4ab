import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ConfigError, defineConfig } from '../../shared/config/config.ts';
import { type Command, EXIT, ExitError, UsageError } from '../command.ts';

const FILES = ['parley.config.ts', 'parley.config.json'];

/** As the server reads it. */
const readConfig = async (file: string): Promise<unknown> => {
  try {
    if (file.endsWith('.json')) return JSON.parse(readFileSync(file, 'utf8'));
    return (await import(pathToFileURL(resolve(file)).href)).default;
  } catch (cause) {
    if (cause instanceof ConfigError) throw cause;
    throw new UsageError(`${file} cannot be read: ${cause instanceof Error ? cause.message : String(cause)}.`);
  }
};

const check: Command = {
  name: 'config check',
  summary: 'Say what is wrong with a configuration, without a server',
  args: '[FILE]',
  arity: [0, 1],
  examples: ['parley config check', 'parley config check /etc/parley/parley.config.json --json'],
  run: async ({ args: [named], out }) => {
    const file = named ?? FILES.find((one) => existsSync(one));
    if (file === undefined) throw new UsageError(`There is no ${FILES.join(' or ')} here. Name a file.`);
    try {
      const { projects } = defineConfig((await readConfig(file)) as Parameters<typeof defineConfig>[0]);
      if (out.isJson) out.json({ valid: true, file, projects: Object.keys(projects) });
      else out.line(`valid: ${file}, ${Object.keys(projects).join(', ')}`);
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      const mistakes = error.message
        .split('\n')
        .slice(1)
        .map((line) => line.trim());
      if (out.isJson) out.json({ valid: false, file, mistakes });
      else for (const mistake of mistakes) out.line(mistake);
      throw new ExitError(EXIT.rejected);
    }
  },
};

export { check };
