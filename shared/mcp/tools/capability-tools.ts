import type { Json, JsonObject } from '../../kernel/json/json.ts';
import { isJsonObject } from '../../kernel/json/json.ts';
import type { McpContext } from '../context.ts';
import { listCapabilities, type ShownCapability } from '../list-capabilities.ts';

/** Models are billed for each tool that their host shows them. */
const PAGE = 100;

interface ToolPage {
  tools: JsonObject[];
  cursor?: string;
}

/** A page of the capabilities as tools, by name. */
export const listCapabilityTools = async (context: McpContext, cursor: string | undefined): Promise<ToolPage> => {
  const { api, agent } = context;
  const { capabilities, ...rest } = await listCapabilities(api, { agent, cursor, limit: PAGE });
  return { tools: capabilities.map((capability) => toTool(context, capability)), ...rest };
};

export const findCapability = async ({ api, agent }: McpContext, name: string): Promise<ShownCapability | undefined> =>
  (await listCapabilities(api, { agent, capability: name })).capabilities[0];

const toTool = ({ call }: McpContext, { name, input, output, providers }: ShownCapability): JsonObject => ({
  name,
  description: `Done by ${providers.slice(0, 10).join(', ')}, as a durable task.`,
  inputSchema: toInputSchema(input),
  // Without task handles a call may answer before there is a result, and clients hold every answer against this schema.
  ...(output && call.canFollowTasks && { outputSchema: output }),
  annotations: { openWorldHint: true },
});

const isObjectSchema = (schema: JsonObject): boolean => schema.type === 'object';

/** The arguments of a tool are an object: another kind of input stands under `input` in it. */
export const toInputSchema = (schema: JsonObject | undefined): JsonObject => {
  if (schema === undefined) return { type: 'object' };
  if (isObjectSchema(schema)) return schema;
  return { type: 'object', properties: { input: schema }, required: ['input'], additionalProperties: false };
};

export const toTaskInput = ({ input }: ShownCapability, args: JsonObject): Json =>
  input === undefined || isObjectSchema(input) || !isJsonObject(args) ? args : (args.input ?? null);
