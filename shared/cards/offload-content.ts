import type { Dialect } from '../dialects/dialect.ts';
import type { Deps } from '../identity/deps.ts';
import type { Json, JsonObject } from '../kernel/json/json.ts';
import type { CardType } from './card.ts';
import { putCard } from './put-card.ts';

/** What a message carries instead of content that is too large for it. */
export interface CardReference extends JsonObject {
  card_id: string;
  type: CardType;
  bytes: number;
  uri: string;
}

/** What a reader of the dialect is given: the content itself, or a card where its messages have no room for that much. */
export const offloadForDialect = (
  deps: Deps,
  { maxContentBytes: fits }: Pick<Dialect, 'maxContentBytes'>,
  about: { project: string; from: string; type: CardType },
  content: Json,
): Json | Promise<Json> => (fits === undefined ? content : offloadIfLarge(deps, { ...about, fits }, content));

const buildCardUri = (id: string): string => `/v1/cards/${id}`;

/** The content itself, or where it has more bytes than fit, a card that holds it. The same content is always the same card. */
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
