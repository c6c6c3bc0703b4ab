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
export const listCapabilityTools = async (context: McpContext, after: string | undefined): Promise<ToolPage> => {
  const all = await listCapabilities(context.api, context.agent);
  const rest = all.filter(({ name }) => after === undefined || name > after);
  const page = rest.slice(0, PAGE);
  const last = rest.length > PAGE ? page.at(-1)?.name : undefined;
  return { tools: page.map((capability) => toTool(context, capability)), ...(last !== undefined && { cursor: last }) };
};

export const findCapability = async ({ api, agent }: McpContext, name: string): Promise<ShownCapability | undefined> =>
  (await listCapabilities(api, agent)).find((capability) => capability.name === name);

const toTool = (
  { call }: McpContext,
  { name, description, input, output, providers }: ShownCapability,
): JsonObject => ({
  name,
  description: description ?? `Done by ${providers.join(', ')}, as a durable task.`,
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
