import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { STREAMING_OPERATIONS, UNARY_OPERATIONS } from '../../shared/http/routes/a2a/operations.ts';
import { METHOD_NAMES } from '../../shared/mcp/methods.ts';
import { parseGuide, playGuide } from '../support/guide-examples.ts';
import { testParley } from '../support/test-parley.ts';

const read = (page: string): string => readFileSync(new URL(`../../docs/guides/${page}.md`, import.meta.url), 'utf8');

/** What a shell would send: streams are shown as commands. */
const listCurlBodies = (page: string): { method: string }[] =>
  [...page.matchAll(/-d '(\{[\s\S]*?\n\})'\n/g)].map(([, body = '']) =>
    JSON.parse(body.replaceAll(`"'$TASK'"`, '"x"')),
  );

const PAGES = {
  'a2a-calls': [...Object.keys(UNARY_OPERATIONS), ...Object.keys(STREAMING_OPERATIONS)],
  'mcp-calls': METHOD_NAMES,
};

for (const [name, methods] of Object.entries(PAGES)) {
  describe(`docs/guides/${name}.md`, () => {
    const page = read(name);
    const examples = parseGuide(page);

    it('has an example of every method', () => {
      const shown = [...examples.map(({ json }) => json as { method?: string } | undefined), ...listCurlBodies(page)];
      const named = new Set(shown.map((one) => one?.method).filter((one) => one !== undefined));
      assert.deepEqual([...named].sort(), [...methods].sort());
    });

    it('is answered as the page says, and by no error', { timeout: 60_000 }, async (t) => {
      for (const { json, reply, line } of examples) {
        if ((json as { method?: string } | undefined)?.method)
          assert.ok(reply, `line ${line}: the page shows no reply`);
      }
      await playGuide(await testParley(t), examples);
    });

    it('has commands that a shell can read', () => {
      for (const [, commands = ''] of page.matchAll(/```sh\n([\s\S]*?)```/g))
        assert.equal(spawnSync('bash', ['-n', '-c', commands]).status, 0, commands);
    });
  });
}
