import type { JsonObject } from '../../kernel/json/json.ts';
import type { McpContext } from '../context.ts';
import { invalidParamsError } from '../rpc-error.ts';
import { listCapabilityTools } from './capability-tools.ts';
import { CONTROL_TOOLS } from './control-tools.ts';

/** What a caller of one agent needs beside the agent's own tools: whatever follows up a task. */
const FOLLOW_UP_TOOLS = ['parley_wait', 'parley_status', 'parley_answer', 'parley_cancel'];

/** Those of Parley itself, then one for each capability, by name. */
export const listMcpTools = async (context: McpContext): Promise<JsonObject> => {
  const { cursor } = context.call.params;
  if (cursor !== undefined && typeof cursor !== 'string') throw invalidParamsError('cursor must be a string.');
  const { tools, cursor: next } = await listCapabilityTools(context, cursor);
  const own = CONTROL_TOOLS.filter(({ name }) => context.agent === undefined || FOLLOW_UP_TOOLS.includes(name));
  return {
    tools: [...(cursor === undefined ? own.map(({ shown }) => shown) : []), ...tools],
    ...(next !== undefined && { nextCursor: next }),
  };
};
