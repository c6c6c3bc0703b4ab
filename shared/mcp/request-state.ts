import { timingSafeEqual } from 'node:crypto';
import * as z from 'zod';
import type { McpContext } from './context.ts';
import { invalidParamsError } from './rpc-error.ts';

const State = z.strictObject({ taskId: z.string(), tool: z.string(), question: z.string() });
type State = z.output<typeof State>;

/** What a client sends back with its answers: which task they are for. */
export const sealState = async ({ sign }: Pick<McpContext, 'sign'>, state: State): Promise<string> => {
  const content = Buffer.from(JSON.stringify(state)).toString('base64url');
  return `${content}.${await sign(`state/${content}`)}`;
};

export const openState = async ({ sign }: Pick<McpContext, 'sign'>, sealed: unknown, tool: string): Promise<State> => {
  const [content = '', signature = ''] = typeof sealed === 'string' ? sealed.split('.') : [];
  const expected = await sign(`state/${content}`);
  if (signature.length !== expected.length || !timingSafeEqual(Buffer.from(signature), Buffer.from(expected))) {
    throw invalidParamsError('requestState is not one that Parley gave to this agent.');
  }
  const state = State.parse(JSON.parse(Buffer.from(content, 'base64url').toString()));
  if (state.tool !== tool) throw invalidParamsError(`requestState belongs to a call of ${state.tool}.`);
  return state;
};
