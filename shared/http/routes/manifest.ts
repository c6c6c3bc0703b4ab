import * as z from 'zod';
import { DIALECTS, getDialect } from '../../dialects/registry.ts';
import { ParleyError } from '../../kernel/errors.ts';
import { jsonObject } from '../../kernel/json/parse-or-throw.ts';
import { importManifest } from '../../registration/import-manifest.ts';
import { defineKeyRoute, type Route } from '../route.ts';

/** A thousand agents, of a kilobyte each. */
const MANIFEST_BYTES = 1024 * 1024;

const ImportResultView = z.object({
  id: z.string(),
  outcome: z.enum(['registered', 'changed', 'refused']),
  key: z.string().optional().describe('the key of a new agent, shown once'),
  code: z.string().optional(),
  detail: z.string().optional(),
});

export const manifestRoutes: Route[] = [
  defineKeyRoute({
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
        .describe('the dialect of the manifest. By default the first dialect with manifests'),
    }),
    body: jsonObject,
    responses: { 200: { description: 'One result per item', schema: z.object({ agents: z.array(ImportResultView) }) } },
    handle: async ({ deps, caller, query, body }) => {
      const dialect =
        query.dialect === undefined ? DIALECTS.find((one) => one.parseManifest) : getDialect(query.dialect);
      if (!dialect) throw new ParleyError('invalid_request', 'No dialect has manifest files.');
      return { status: 200, body: { agents: await importManifest(deps, caller.project, dialect, body) } };
    },
  }),
];
