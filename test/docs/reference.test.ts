import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { REFERENCE_FOLDER, renderReference } from '../../docs/generate/reference.ts';
import { renderSdkTypes, SDK_TYPES } from '../../docs/generate/sdk-types.ts';
import { routes } from '../../shared/http/routes/routes.ts';
import { ERROR_CODES } from '../../shared/kernel/error-codes.ts';

const pages = renderReference();

describe('docs/reference', () => {
  for (const [name, text] of Object.entries(pages)) {
    it(`${name} is what npm run docs writes`, () => {
      const file = new URL(name, REFERENCE_FOLDER);
      const committed = existsSync(file) ? readFileSync(file, 'utf8') : '';
      const difference = findDifference(committed, text);
      assert.equal(
        difference,
        undefined,
        `docs/reference/${name} is not current: run npm run docs and commit. ${difference}`,
      );
    });
  }

  for (const [name, text] of Object.entries(renderSdkTypes())) {
    it(`the SDK's ${name} is what npm run docs writes`, () => {
      const file = new URL(name, SDK_TYPES);
      const committed = existsSync(file) ? readFileSync(file, 'utf8') : '';
      const difference = findDifference(committed, text);
      assert.equal(difference, undefined, `${name} is not current: run npm run docs and commit. ${difference}`);
    });
  }

  it('contains generated pages only', () => {
    assert.deepEqual(readdirSync(REFERENCE_FOLDER).sort(), Object.keys(pages).sort());
  });

  it('has a heading for every route of the API', () => {
    const text = pages['http.md'] ?? '';
    const missing = routes.filter(({ method, path }) => !text.includes(`\n### ${method} ${path}\n`));
    assert.deepEqual(
      missing.map(({ method, path }) => `${method} ${path}`),
      [],
    );
  });

  it('describes every key of the configuration', () => {
    const rows = (pages['configuration.md'] ?? '').split('\n').filter((line) => line.startsWith('| `'));
    assert.ok(rows.length > 50);
    const undescribed = rows.filter((row) => row.endsWith('|  |'));
    assert.deepEqual(undescribed, [], 'add .describe() in shared/config/');
  });

  it('has a row for every error code', () => {
    const text = pages['error-codes.md'] ?? '';
    for (const [code, { status }] of Object.entries(ERROR_CODES)) {
      assert.ok(text.includes(`\n| \`${code}\` | ${status} |`), code);
    }
  });
});

const findDifference = (committed: string, generated: string): string | undefined => {
  if (committed === generated) return undefined;
  const [old, now] = [committed.split('\n'), generated.split('\n')];
  const at = now.findIndex((line, number) => line !== old[number]);
  const number = at < 0 ? now.length : at;
  return `Line ${number + 1} is ${JSON.stringify(old[number])} and should be ${JSON.stringify(now[number])}.`;
};
