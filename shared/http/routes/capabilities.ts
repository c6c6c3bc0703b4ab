import * as z from 'zod';
import { jsonObject } from '../../kernel/json/parse-or-throw.ts';
import { listOfferedCapabilities } from '../../statistics/list-offered-capabilities.ts';
import { boundedCount, defineRoute, type Route } from '../route.ts';

const ProviderView = z.object({
  agent: z.string(),
  dialect: z.string(),
  transport: z.string(),
  input: jsonObject.optional().describe('JSON Schema of what its tasks bring'),
  output: jsonObject.optional().describe('JSON Schema of what the agent gives'),
});

const CapabilityView = z
  .object({
    name: z.string().describe('`security.*` stands for a whole domain'),
    domain: z.string().optional(),
    providers: z.array(ProviderView),
  })
  .meta({ id: 'Capability' });

export const capabilityRoutes: Route[] = [
  defineRoute({
    operationId: 'listCapabilities',
    method: 'GET',
    path: '/v1/capabilities',
    summary: 'List what agents can do: each capability with its agents and their schemas',
    query: z.strictObject({
      capability: z.string().min(1).max(128).optional(),
      domain: z.string().min(1).max(32).optional(),
      agent: z.string().min(1).max(64).optional(),
      limit: boundedCount(100, 50),
      cursor: z.string().max(128).optional(),
    }),
    responses: {
      200: {
        description: 'By name. With a `cursor` there are more',
        schema: z
          .object({
            capabilities: z.array(CapabilityView),
            isComplete: z.boolean().describe('false with more than 500 agents: then name an `agent`'),
            cursor: z.string().optional(),
          })
          .meta({ id: 'CapabilityPage' }),
      },
    },
    handle: async ({ deps, caller, query: { capability, cursor, ...filter } }) => {
      const wanted = { ...filter, name: capability, after: cursor };
      const { capabilities, hasMore, isComplete } = await listOfferedCapabilities(deps, caller.project, wanted);
      const views = capabilities.map(
        ({ name, domain, providers }): z.output<typeof CapabilityView> => ({
          name,
          domain,
          providers: providers.map(({ agent: { id, dialect, transport }, schemas }) => ({
            agent: id,
            dialect,
            transport,
            input: schemas.input,
            output: schemas.output,
          })),
        }),
      );
      return {
        status: 200,
        body: { capabilities: views, isComplete, cursor: hasMore ? capabilities.at(-1)?.name : undefined },
      };
    },
  }),
];
