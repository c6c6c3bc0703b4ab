import * as z from 'zod';
import { dialects } from '../../dialects/dialects.ts';
import { ParleyError } from '../../errors.ts';
import { once } from '../once.ts';
import { openRoute, type Route } from '../route.ts';

/** Each schema by the name of its file. */
const schemas: ReadonlyMap<string, () => object> = new Map(
  [
    ...dialects.map(({ name, schema }) => ({ name: `${name}.json`, schema })),
    ...dialects.flatMap(({ schemaFile: name, schema }) => (name === undefined ? [] : { name, schema })),
  ].map(({ name, schema }) => [
    name,
    once(() => ({ $id: `/schemas/${name}`, ...z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) })),
  ]),
);

const documentOf = (name: string): object => {
  const document = schemas.get(name);
  if (document) return document();
  const known = [...schemas.keys()];
  throw new ParleyError('not_found', `There is no schema ${name}. Known: ${known.join(', ')}.`, { facts: { known } });
};

export const schemaRoutes: Route[] = [
  openRoute(
    {
      method: 'GET',
      path: '/schemas/{name}',
      summary: 'The messages of a dialect as JSON Schema 2020-12: task.schema.json, or <dialect>.json',
      answers: {
        200: { description: 'The schema', schema: z.looseObject({}) },
        404: { description: 'No such schema' },
      },
    },
    async (_deps, { name = '' }) => ({ status: 200, body: documentOf(name) }),
  ),
];
