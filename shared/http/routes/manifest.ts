import * as z from 'zod';
import { requireAdmin } from '../../agents/authenticate.ts';
import { importManifest } from '../../agents/import-manifest.ts';
import { dialectNamed, dialects } from '../../dialects/dialects.ts';
import { ParleyError } from '../../errors.ts';
import { jsonObject } from '../../json/checked.ts';
import { type Route, route } from '../route.ts';

const Imported = z.object({
  id: z.string(),
  outcome: z.enum(['registered', 'changed', 'refused']),
  key: z.string().optional().describe('of a new agent; shown once'),
  code: z.string().optional(),
  detail: z.string().optional(),
});

export const manifestRoutes: Route[] = [
  route({
    method: 'POST',
    path: '/v1/manifest',
    summary: 'Register all agents of a manifest file, or change their registrations (admin)',
    query: z.strictObject({
      dialect: z.string().max(64).optional().describe('whose manifest it is; by default the first that has one'),
    }),
    body: jsonObject,
    answers: { 200: { description: 'What became of each', schema: z.object({ agents: z.array(Imported) }) } },
    handle: async ({ deps, caller, query, body }) => {
      requireAdmin(caller);
      const dialect =
        query.dialect === undefined ? dialects.find((one) => one.readManifest) : dialectNamed(query.dialect);
      if (!dialect) throw new ParleyError('invalid_request', 'No dialect has manifest files.');
      return { status: 200, body: { agents: await importManifest(deps, caller.project, dialect, body) } };
    },
  }),
];
