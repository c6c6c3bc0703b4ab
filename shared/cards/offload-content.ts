import type { Dialect } from '../dialects/dialect.ts';
import type { Deps } from '../identity/deps.ts';
import type { Json, JsonObject } from '../kernel/json/json.ts';
import type { CardType } from './card.ts';
import { putCard } from './put-card.ts';

interface CardReference extends JsonObject {
  card_id: string;
  type: CardType;
  bytes: number;
  uri: string;
}

/** `isOwn` where the content came in the dialect itself. */
export const offloadForDialect = (
  deps: Deps,
  { maxContentBytes = Infinity, getMaxMessageBytes }: Pick<Dialect, 'maxContentBytes' | 'getMaxMessageBytes'>,
  about: { project: string; from: string; type: CardType; isOwn?: boolean },
  content: Json,
): Json | Promise<Json> => {
  const { isOwn, ...rest } = about;
  const fits = (isOwn && getMaxMessageBytes?.(deps.config)) || maxContentBytes;
  return fits === Infinity ? content : offloadIfLarge(deps, { ...rest, fits }, content);
};

const buildCardUri = (id: string): string => `/v1/cards/${id}`;

export const offloadIfLarge = async (
  deps: Deps,
  { project, from, type, fits }: { project: string; from: string; type: CardType; fits: number },
  content: Json,
): Promise<Json | CardReference> => {
  const bytes = Buffer.byteLength(JSON.stringify(content));
  if (bytes <= fits) return content;
  const { id } = await putCard(deps, project, from, type, content);
  return { card_id: id, type, bytes, uri: buildCardUri(id) } satisfies CardReference;
};
