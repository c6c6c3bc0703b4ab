import * as z from 'zod';
import type { JsonObject } from '../kernel/json/json.ts';
import type { McpContext } from './context.ts';
import { listCapabilities } from './list-capabilities.ts';
import { invalidParamsError } from './rpc-error.ts';

const MAX_VALUES = 100;

const CompletionParams = z.looseObject({
  ref: z.discriminatedUnion('type', [
    z.looseObject({ type: z.literal('ref/prompt'), name: z.string() }),
    z.looseObject({ type: z.literal('ref/resource'), uri: z.string() }),
  ]),
  argument: z.looseObject({ name: z.string(), value: z.string().max(256) }),
});
type CompletionParams = z.output<typeof CompletionParams>;

export const complete = async (context: McpContext): Promise<JsonObject> => {
  const { success, data } = CompletionParams.safeParse(context.call.params);
  if (!success) throw invalidParamsError('completion/complete needs ref and argument.');
  const values = await listValues(context, data);
  return {
    completion: { values: values.slice(0, MAX_VALUES), total: values.length, hasMore: values.length > MAX_VALUES },
  };
};

const listValues = async ({ api, agent }: McpContext, { ref, argument }: CompletionParams): Promise<string[]> => {
  const { name, value } = argument;
  if (ref.type === 'ref/prompt') {
    if (name !== 'capability' && name !== 'capabilities') return [];
    const { capabilities } = await listCapabilities(api, { agent, limit: MAX_VALUES });
    return capabilities.map((one) => one.name).filter((one) => one.startsWith(value));
  }
  if (name !== 'id') return [];
  if (ref.uri.startsWith('parley://tasks/')) {
    const query = { limit: MAX_VALUES, idPrefix: value || undefined };
    const { tasks } = await api.call('GET', '/v1/tasks', { query });
    return (tasks as JsonObject[]).map(({ id }) => String(id));
  }
  if (!ref.uri.startsWith('parley://agents/')) return [];
  const { agents } = await api.call('GET', '/v1/agents', { query: { limit: MAX_VALUES } });
  return (agents as JsonObject[]).map(({ id }) => String(id)).filter((id) => id.startsWith(value));
};
