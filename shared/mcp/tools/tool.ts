import * as z from 'zod';
import type { JsonObject } from '../../kernel/json/json.ts';
import type { McpContext } from '../context.ts';
import { toErrorResult } from './content.ts';

interface ToolHints {
  readOnlyHint?: boolean;
  destructiveHint?: boolean;
  idempotentHint?: boolean;
  openWorldHint?: boolean;
}

interface ToolDefinition<A> {
  name: string;
  title: string;
  description: string;
  hints: ToolHints;
  input: z.ZodType<A>;
  run: (context: McpContext, args: A) => Promise<JsonObject>;
}

/** A tool that every server of Parley has. */
export interface ControlTool {
  name: string;
  /** As `tools/list` shows it. */
  shown: JsonObject;
  run: (context: McpContext, args: unknown) => Promise<JsonObject>;
}

export const defineTool = <A>({ name, title, description, hints, input, run }: ToolDefinition<A>): ControlTool => {
  const { $schema, ...inputSchema } = z.toJSONSchema(input, { io: 'input', unrepresentable: 'any' });
  const annotations = { title, openWorldHint: false, ...hints };
  return {
    name,
    shown: { name, title, description, inputSchema, annotations } as unknown as JsonObject,
    run: async (context, args) => {
      const { success, data, error } = input.safeParse(args);
      if (success) return run(context, data);
      const issues = error.issues.map(({ path, message }) => `${path.join('.') || 'the arguments'}: ${message}`);
      return toErrorResult('invalid_arguments', issues.join('\n'));
    },
  };
};

export const taskId = z.string().min(1).max(128).describe('the id of the task');
