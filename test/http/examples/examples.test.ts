import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as z from 'zod';
import { findExample } from '../../../shared/http/examples.ts';
import { toJsonSchema } from '../../../shared/http/openapi-schemas.ts';
import { routes } from '../../../shared/http/routes/routes.ts';
import { validate } from '../../../shared/kernel/json/parse-or-throw.ts';
import { testParley } from '../../support/test-parley.ts';
import { recordExamples } from './record.ts';

/** Which fields there are, whatever they hold. A field with an id or a time of its own may hold anything. */
const listFields = (value: unknown): string[] =>
  typeof value === 'object' && value !== null ? Object.keys(value).sort() : [];

/** The documents of other protocols have examples of their own. */
const own = routes.filter(({ isForeign }) => !isForeign);

describe('examples of the OpenAPI document', () => {
  for (const route of own) {
    it(`${route.operationId} has an example of a call and an answer that its schemas accept`, () => {
      const example = findExample(route.operationId);
      assert.ok(example, 'add it to test/http/examples/story.ts, and run test/http/examples/write-examples.ts');
      const names = [...route.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      assert.deepEqual(listFields(example.params), names.sort());
      assert.deepEqual(validate(route.query, example.query ?? {}), []);
      assert.deepEqual(validate(route.body, example.body), []);
      const { schema } = route.responses[example.status] ?? {};
      if (example.response === undefined || !schema) return;
      assert.equal(z.fromJSONSchema(toJsonSchema(schema, 'output')).safeParse(example.response).error, undefined);
    });
  }

  it('are calls that a running Parley accepts, with answers of the same fields', async (t) => {
    const told = await recordExamples(await testParley(t));
    assert.deepEqual(Object.keys(told), own.map(({ operationId }) => operationId).sort());
    for (const [operationId, { status, query, body, response }] of Object.entries(told)) {
      const stored = findExample(operationId);
      assert.deepEqual(
        [status, query, listFields(body), listFields(response)],
        [stored?.status, stored?.query, listFields(stored?.body), listFields(stored?.response)],
        `${operationId}: run test/http/examples/write-examples.ts`,
      );
    }
  });
});
