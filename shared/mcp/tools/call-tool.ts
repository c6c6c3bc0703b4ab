import * as z from 'zod';
import { jsonObject } from '../../kernel/json/parse-or-throw.ts';
import type { McpAnswer } from '../answer.ts';
import { ApiProblem } from '../api.ts';
import type { McpContext } from '../context.ts';
import { invalidParamsError } from '../rpc-error.ts';
import { callCapability } from './call-capability.ts';
import { findCapability } from './capability-tools.ts';
import { toProblemResult } from './content.ts';
import { findControlTool } from './control-tools.ts';

const CallParams = z.looseObject({ name: z.string().min(1).max(128), arguments: jsonObject.default({}) });

/** What Parley says no to is for the model to read, so it is a result. */
export const runTool = async (context: McpContext): Promise<McpAnswer> => {
  const { success, data, error } = CallParams.safeParse(context.call.params);
  if (!success) throw invalidParamsError(`tools/call: ${error.issues[0]?.path.join('.')}: ${error.issues[0]?.message}`);
  const { name, arguments: args } = data;
  try {
    const control = findControlTool(name);
    if (control) return await control.run(context, args);
    const capability = await findCapability(context, name);
    if (!capability) throw invalidParamsError(`There is no tool ${name}. tools/list has those of Parley.`);
    return await callCapability(context, capability, args);
  } catch (problem) {
    if (problem instanceof ApiProblem && problem.status < 500) return toProblemResult(problem);
    throw problem;
  }
};
