import { toNodeName } from './graph.ts';
import type { Json, JsonObject } from './json.ts';
import type { ClaimedTask } from './task.ts';
import type { Transport } from './transport.ts';

type Dependencies = Record<string, Json>;

/** What the protocol of the requester keeps in cards comes as itself. */
export const loadInput = async (transport: Transport, { message }: ClaimedTask): Promise<Json> => {
  const input = message.input as Json;
  const card = getField(input, 'tool_call_card_id');
  if (message.dialect !== 'common-ground' || typeof card !== 'string') return input;
  const content = await readCard(transport, `/v1/cards/${encodeURIComponent(card)}`);
  return getField(content, 'arguments') ?? getField(content, 'args') ?? {};
};

/** The results of the tasks that this one waited for. Those without a result are null. */
export const loadDependencies = async (
  transport: Transport,
  { message, graphId }: ClaimedTask,
): Promise<Dependencies> => {
  const entries = Object.entries((message.results ?? {}) as JsonObject).map(async ([id, entry]) => {
    const result = getField(entry, 'result') ?? null;
    const uri = isCardReference(result) ? getField(result, 'uri') : undefined;
    const value = typeof uri === 'string' ? await readCard(transport, uri) : result;
    return [toNodeName(graphId, id), value] as const;
  });
  return Object.fromEntries(await Promise.all(entries));
};

const readCard = async (transport: Transport, path: string): Promise<Json> => {
  const { content } = await transport.call<{ content: Json }>('GET', path);
  return content;
};

const CARD_FIELDS = ['bytes', 'card_id', 'type', 'uri'];

/** In the place of a result that is too large for the claim. */
const isCardReference = (value: Json): boolean =>
  typeof value === 'object' && value !== null && Object.keys(value).toSorted().join() === CARD_FIELDS.join();

const getField = (value: Json | undefined, name: string): Json | undefined =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && Object.hasOwn(value, name)
    ? value[name]
    : undefined;
