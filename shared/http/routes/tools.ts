import * as z from 'zod';
import type { Tool } from '../../identity/tools/tool.ts';
import { toIso } from '../../ports/clock.ts';
import { deleteTool, getTool, listTools, registerTool, ToolRegistration } from '../../registration/register-tool.ts';
import { boundedCount, defineKeyRoute, defineRoute, type Route, recordBodyLimit } from '../route.ts';

const { tool_name: _inPath, ...registrationFields } = ToolRegistration.shape;
const ToolView = z
  .object({ name: z.string(), ...registrationFields, updated_at: z.iso.datetime() })
  .meta({ id: 'Tool' });

const toToolView = (tool: Tool): z.output<typeof ToolView> => ({
  name: tool.name,
  description: tool.description,
  parameters: tool.parameters,
  target_subject: tool.targetSubject,
  after_execution: tool.afterExecution,
  ui_allowed: tool.uiAllowed,
  options: tool.options,
  updated_at: toIso(tool.updatedAt),
});

const notFound = { 404: { description: 'No such tool' } };

export const toolRoutes: Route[] = [
  defineKeyRoute({
    operationId: 'putTool',
    method: 'PUT',
    path: '/v1/tools/{name}',
    summary: 'Register a tool, or replace its registration',
    access: 'admin',
    bodyBytes: recordBodyLimit,
    body: ToolRegistration,
    responses: {
      200: { description: 'Replaced', schema: ToolView },
      201: { description: 'Registered', schema: ToolView },
    },
    handle: async ({ deps, caller, params, body }) => {
      const { tool, isNew } = await registerTool(deps, caller.project, params.name ?? '', body);
      return { status: isNew ? 201 : 200, body: toToolView(tool) };
    },
  }),
  defineRoute({
    operationId: 'listTools',
    method: 'GET',
    path: '/v1/tools',
    summary: 'List tools by name',
    query: z.strictObject({ limit: boundedCount(100, 50), cursor: z.string().max(64).optional() }),
    responses: {
      200: {
        description: 'A page. With a `cursor` there may be more',
        schema: z.object({ tools: z.array(ToolView), cursor: z.string().optional() }),
      },
    },
    handle: async ({ deps, caller, query: { limit, cursor } }) => {
      const tools = await listTools(deps, caller.project, limit, cursor);
      return {
        status: 200,
        body: { tools: tools.map(toToolView), cursor: tools.length === limit ? tools.at(-1)?.name : undefined },
      };
    },
  }),
  defineRoute({
    operationId: 'getTool',
    method: 'GET',
    path: '/v1/tools/{name}',
    summary: 'Get a tool',
    responses: { 200: { description: 'The tool', schema: ToolView }, ...notFound },
    handle: async ({ deps, caller, params }) => ({
      status: 200,
      body: toToolView(await getTool(deps, caller.project, params.name ?? '')),
    }),
  }),
  defineKeyRoute({
    operationId: 'removeTool',
    method: 'DELETE',
    path: '/v1/tools/{name}',
    summary: 'Remove a tool',
    access: 'admin',
    responses: { 204: { description: 'Removed' }, ...notFound },
    handle: async ({ deps, caller, params }) => {
      await deleteTool(deps, caller.project, params.name ?? '');
      return { status: 204 };
    },
  }),
];
