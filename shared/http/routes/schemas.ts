import * as z from 'zod';
import { DIALECTS } from '../../dialects/registry.ts';
import { ParleyError } from '../../kernel/errors.ts';
import { defineOpenRoute, type Route } from '../route.ts';

/** The JSON of a document, made and written out when it is first asked for: what anyone may ask for costs nothing each time. */
export const memoizeJson = (make: () => object | Promise<object>): (() => Promise<Uint8Array>) => {
  let made: Promise<Uint8Array> | undefined;
  return () => {
    made ??= Promise.resolve(make()).then((document) => Buffer.from(JSON.stringify(document)));
    return made;
  };
};

/** Each schema by the name of its file. */
const schemas: ReadonlyMap<string, () => Promise<Uint8Array>> = new Map(
  [
    ...DIALECTS.map(({ name, schema }) => ({ name: `${name}.json`, schema })),
    ...DIALECTS.flatMap(({ schemaFile: name, schema }) => (name === undefined ? [] : { name, schema })),
  ].map(({ name, schema }) => [
    name,
    memoizeJson(() => ({
      $id: `/schemas/${name}`,
      ...z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }),
    })),
  ]),
);

const loadSchemaDocument = (name: string): Promise<Uint8Array> => {
  const document = schemas.get(name);
  if (document) return document();
  const known = [...schemas.keys()];
  throw new ParleyError('not_found', `There is no schema ${name}. Known: ${known.join(', ')}.`, { details: { known } });
};

export const schemaRoutes: Route[] = [
  defineOpenRoute(
    {
      operationId: 'getSchema',
      method: 'GET',
      path: '/schemas/{name}',
      summary: 'Get the messages of a dialect as JSON Schema 2020-12: `task.schema.json`, or `<dialect>.json`',
      responses: {
        200: { description: 'The schema', schema: z.looseObject({}) },
        404: { description: 'No such schema' },
      },
    },
    async (_deps, { name = '' }) => ({ status: 200, json: await loadSchemaDocument(name) }),
  ),
];
