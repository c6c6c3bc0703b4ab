import assert from 'node:assert/strict';
import { existsSync, globSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import { type Located, listAnchors, listInlineCode, listLinks, listSentences, readProse } from './markdown-page.ts';

const MAX_WORDS = 35;

const pages = globSync(['*.md', 'docs/**/*.md', 'examples/**/*.md']).sort();
/** Old names, and pages that `npm run docs` makes from the code. */
const isWritten = (file: string): boolean =>
  file !== join('docs', 'renamed.md') && !file.startsWith(join('docs', 'reference'));
const writtenPages = pages.filter(isWritten);

/** Folders that are committed: `.parley/` and `cdk.out/` come and go. */
const ignored = readFileSync('.gitignore', 'utf8')
  .split('\n')
  .map((line) => line.replaceAll('/', ''));
const folders = readdirSync('.', { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && entry.name !== '.git' && !ignored.includes(entry.name))
  .map(({ name }) => name);

const assertNone = (file: string, found: Located[], rule: string): void =>
  assert.ok(found.length === 0, `${rule}\n${found.map(({ line, text }) => `${file}:${line}: ${text}`).join('\n')}`);

describe('documentation', () => {
  it('has pages', () => {
    assert.ok(
      writtenPages.length > 10,
      `found only ${writtenPages.join(', ')}: run the test from the root of the repository`,
    );
  });

  for (const file of writtenPages) {
    it(`${file} has no sentence of more than ${MAX_WORDS} words`, () => {
      const long = listSentences(readProse(file)).filter(({ words }) => words > MAX_WORDS);
      const found = long.map(({ line, text, words }) => ({ line, text: `${words} words: ${text}` }));
      assertNone(file, found, `Split these sentences, or make a table of them:`);
    });

    it(`${file} names only files that exist`, () => {
      const found = listInlineCode(readProse(file)).filter(({ text }) => isMissingPath(text));
      assertNone(file, found, 'These files do not exist in the repository:');
    });
  }

  it('docs/renamed.md says where each file is now', () => {
    const rows = [...readFileSync('docs/renamed.md', 'utf8').matchAll(/^\| `[^`]+\.ts` \| `([^`]+\.ts)` \|$/gm)];
    assert.ok(rows.length > 200);
    assert.deepEqual(
      rows.flatMap(([, now = '']) => (existsSync(now) ? [] : now)),
      [],
    );
  });

  it('docs/decisions/README.md lists every decision with its title', () => {
    const index = readFileSync('docs/decisions/README.md', 'utf8');
    const rows = globSync('docs/decisions/0*.md').map((file) => {
      const [, number, title] = /^# (\d+)\. (.*)/.exec(readFileSync(file, 'utf8')) ?? [];
      return `| ${number} | [${title}](${basename(file)}) |`;
    });
    assert.deepEqual(
      rows.filter((row) => !index.includes(row)),
      [],
    );
  });

  for (const file of pages) {
    it(`${file} has no broken links`, () => {
      const found = listLinks(readProse(file)).flatMap((link) => {
        const fault = findLinkFault(file, link.text);
        return fault === undefined ? [] : [{ line: link.line, text: `${link.text}: ${fault}` }];
      });
      assertNone(file, found, 'These links lead nowhere:');
    });
  }
});

/** A path of this repository in backticks, whose first folder is there and which itself is not. */
const isMissingPath = (code: string): boolean => {
  const [path = ''] = code.replace(/(:\d+)+$/, '').split(/\s/);
  if (!folders.some((folder) => path.startsWith(`${folder}/`))) return false;
  // `docs/decisions/NNNN-<title>.md`: what comes before the placeholder must be there.
  const known = path.split(/[<…]|NNNN/)[0] ?? '';
  if (known !== path) return !existsSync(dirname(`${known}x`));
  return /[*{]/.test(path) ? globSync(path).length === 0 : !existsSync(path);
};

const findLinkFault = (file: string, target: string): string | undefined => {
  if (/^[a-z][a-z+.-]*:/i.test(target)) return undefined;
  const [path = '', fragment] = target.split('#');
  const linked = path === '' ? file : join(dirname(file), decodeURIComponent(path));
  if (!existsSync(linked)) return `there is no ${linked}`;
  if (fragment === undefined || fragment === '') return undefined;
  if (statSync(linked).isDirectory()) return `${linked} is a folder and has no headings`;
  if (!linked.endsWith('.md')) return undefined;
  return listAnchors(readProse(linked)).has(fragment) ? undefined : `${linked} has no heading #${fragment}`;
};
