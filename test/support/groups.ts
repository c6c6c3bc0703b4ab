import { globSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { isLong } from './scale.ts';

const TESTS = resolve(import.meta.dirname, '..');

/**
 * Folders of tests that need memory alone. To load the sources takes longer than most of these files run, and so each of these
 * groups, a file of `test/groups`, is one process for all that is in its folders.
 */
export const GROUPS = {
  dialects: ['dialects'],
  http: ['http'],
  rest: [
    'agents',
    'batches',
    'broadcasts',
    'cards',
    'dispatch',
    'events',
    'functions',
    'graphs',
    'ids',
    'inbox',
    'json',
    'operations',
    'schedules',
    'sequences',
    'streams',
    'tools',
  ],
  tasks: ['tasks'],
  turns: ['turns'],
} satisfies Record<string, string[]>;

const listTests = (folder: string): string[] => globSync(join(TESTS, folder, '**/*.test.ts')).sort();

/** Imported by one module, so that none of their tests begins before all of them are there. */
export const importTests = async (group: keyof typeof GROUPS): Promise<void> => {
  const files = GROUPS[group].flatMap(listTests);
  const imports = files.map((file) => `import ${JSON.stringify(pathToFileURL(file).href)};`);
  await import(`data:text/javascript,${encodeURIComponent(imports.join('\n'))}`);
};

/** Packages of their own, with their tests beside them. */
const PACKAGES = '{sdk,cli,console}/**/test/**/*.test.ts';

/** Of `npm run test:long` alone. */
const LONG = ['localstack', 'mcp', 'chaos/runs'];

/** What is to be given to `node --test`, so that every test runs once. */
export const listProcesses = (): string[] => {
  const grouped = new Set([...Object.values(GROUPS).flat(), ...(isLong ? [] : LONG)].flatMap(listTests));
  const alone = listTests('.').filter((file) => !grouped.has(file));
  const ofPackages = globSync(join(TESTS, '..', PACKAGES), { exclude: ['**/node_modules/**'] }).sort();
  return [...alone, ...ofPackages, ...Object.keys(GROUPS).map((group) => join(TESTS, 'groups', `${group}.ts`))];
};
