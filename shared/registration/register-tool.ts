import * as z from 'zod';
import type { Deps } from '../identity/deps.ts';
import { AFTER_EXECUTION, TOOL_NAME_PATTERN, type Tool, toolListKey, toolRef } from '../identity/tools/tool.ts';
import { ParleyError } from '../kernel/errors.ts';
import { JsonSchema } from '../kernel/json/check-schema.ts';
import { assertMaxSize } from '../kernel/json/json.ts';
import { jsonObject } from '../kernel/json/parse-or-throw.ts';

/** Project and channel are those of each call, so that a subject is kept from its category on: `cg.v1r4.{project_id}.*.cmd…`. */
const TARGET_SUBJECT_PATTERN =
  /^(?:cg(?:\.(?:[\w*-]+|\{\w+\})){3}\.)?(cmd\.(?:tool\.[\w-]+|sys\.pmo\.internal)(?:\.[\w-]+)+)$/;

const isDeadlineSeconds = (value: unknown): boolean => typeof value === 'number' && value >= 1 && value <= 86_400;

export const ToolRegistration = z.strictObject({
  tool_name: z.string().max(255).optional().describe('the name in the path once more, as tool files have it'),
  description: z.string().max(4096).default(''),
  parameters: JsonSchema.default({ type: 'object', properties: {} }),
  target_subject: z
    .string()
    .max(256)
    .regex(TARGET_SUBJECT_PATTERN, 'must be cmd.tool.<target>.<suffix> or cmd.sys.pmo.internal.<name>')
    .describe('the subject of its commands, from the category on'),
  after_execution: z
    .enum(AFTER_EXECUTION)
    .default('suspend')
    .describe('whether the turn resumes or ends after the tool'),
  ui_allowed: z
    .boolean()
    .optional()
    .describe('whether a user interface may call it; by default `options.ui_allowed`, or no'),
  options: jsonObject
    .refine(({ deadline_seconds: time }) => time === undefined || isDeadlineSeconds(time), {
      path: ['deadline_seconds'],
      message: 'must be 1 to 86400 seconds',
    })
    .default({})
    .describe('any settings for the service. `deadline_seconds` limits the time of a call'),
});
export type ToolRegistration = z.output<typeof ToolRegistration>;

/** Registers the tool, or replaces its registration. */
export const registerTool = async (
  deps: Deps,
  project: string,
  name: string,
  wanted: ToolRegistration,
): Promise<{ tool: Tool; isNew: boolean }> => {
  if (!TOOL_NAME_PATTERN.test(name)) {
    throw new ParleyError(
      'invalid_request',
      `"${name.slice(0, 64)}" is no name of a tool: 1 to 64 of A-Z, a-z, 0-9, _, . and -, and not . or .. alone.`,
    );
  }
  if (wanted.tool_name !== undefined && wanted.tool_name !== name) {
    throw new ParleyError(
      'invalid_request',
      `The tool is ${name} in the path, but ${wanted.tool_name.slice(0, 64)} in "tool_name".`,
    );
  }
  assertMaxSize('The registration', wanted, deps.config.limits.extensionBytes);
  const ref = toolRef(project, name);
  const fields = {
    description: wanted.description,
    parameters: wanted.parameters,
    targetSubject: TARGET_SUBJECT_PATTERN.exec(wanted.target_subject)?.[1],
    afterExecution: wanted.after_execution,
    uiAllowed: wanted.ui_allowed ?? wanted.options.ui_allowed === true,
    options: wanted.options,
    updatedAt: deps.clock.now(),
  };
  const byList = { pk: toolListKey(project), sk: name };
  const written = await deps.records.update<Tool>(
    ref,
    { set: { project, name, ...fields, byList } },
    deps.newId(),
    'orCreate',
  );
  deps.directory.invalidateTool(project, name);
  if (written.outcome !== 'written')
    throw new ParleyError('conflict', `The tool ${name} was changed meanwhile. Try again.`);
  return { tool: written.after, isNew: written.after.v === 1 };
};

export const findTool = async (deps: Deps, project: string, name: string): Promise<Tool | undefined> =>
  TOOL_NAME_PATTERN.test(name) ? deps.directory.getTool(project, name) : undefined;

export const getTool = async (deps: Deps, project: string, name: string): Promise<Tool> => {
  const tool = await findTool(deps, project, name);
  if (tool) return tool;
  throw new ParleyError(
    'tool_not_found',
    `No tool ${name.slice(0, 64)} is registered. PUT /v1/tools/{name} registers one.`,
  );
};

export const deleteTool = async (deps: Deps, project: string, name: string): Promise<void> => {
  await getTool(deps, project, name);
  await deps.records.delete(toolRef(project, name));
  deps.directory.invalidateTool(project, name);
};

/** By name, a page at a time. */
export const listTools = (deps: Deps, project: string, limit: number, after?: string): Promise<Tool[]> =>
  deps.records.query<Tool>({ index: 'byList', pk: toolListKey(project), after, limit });
