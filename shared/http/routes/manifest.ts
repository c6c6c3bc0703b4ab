import * as z from 'zod';
import type { Dialect } from '../../dialects/dialect.ts';
import { DIALECTS, getDialect } from '../../dialects/registry.ts';
import { ParleyError } from '../../kernel/errors.ts';
import type { JsonObject } from '../../kernel/json/json.ts';
import { jsonObject } from '../../kernel/json/parse-or-throw.ts';
import { importManifest } from '../../registration/import-manifest.ts';
import { defineKeyRoute, type Route } from '../route.ts';

/** A thousand agents, of a kilobyte each. */
const MANIFEST_BYTES = 1024 * 1024;

const ImportResultView = z
  .object({
    id: z.string(),
    outcome: z
      .enum(['registered', 'changed', 'unchanged', 'refused'])
      .describe('`unchanged`: the file only names an agent that is registered'),
    key: z.string().optional().describe('the key of a new agent, shown once'),
    code: z.string().optional(),
    detail: z.string().optional(),
  })
  .meta({ id: 'ImportResult' });

const findManifestDialect = (file: JsonObject): Dialect | undefined =>
  DIALECTS.find((one) => one.isManifest?.(file)) ?? DIALECTS.find((one) => one.parseManifest);

export const manifestRoutes: Route[] = [
  defineKeyRoute({
    operationId: 'importManifest',
    method: 'POST',
    path: '/v1/manifest',
    summary: 'Register all agents of a manifest file, or change their registrations',
    access: 'admin',
    bodyBytes: () => MANIFEST_BYTES,
    query: z.strictObject({
      dialect: z
        .string()
        .max(64)
        .optional()
        .describe('the dialect of the manifest. By default the one whose manifests have its shape'),
    }),
    body: jsonObject,
    responses: { 200: { description: 'One result per item', schema: z.object({ agents: z.array(ImportResultView) }) } },
    handle: async ({ deps, caller, query, body }) => {
      const dialect = query.dialect === undefined ? findManifestDialect(body) : getDialect(query.dialect);
      if (!dialect) throw new ParleyError('invalid_request', 'No dialect has manifest files.');
      return { status: 200, body: { agents: await importManifest(deps, caller.project, dialect, body) } };
    },
  }),
];
