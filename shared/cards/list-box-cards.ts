import type { Deps } from '../identity/deps.ts';
import type { Box } from './box.ts';
import { type Card, cardRef } from './card.ts';
import { INLINE_CARD_BYTES } from './put-card.ts';

/** A Lambda response holds 6 MB. */
const MAX_PAGE_BYTES = 3 * 1024 * 1024;

export interface CardPage {
  cards: Card[];
  next?: number;
}

/** Expired cards are left out. */
export const listBoxCards = async (deps: Deps, box: Box, from: number, limit: number): Promise<CardPage> => {
  const ids = box.cards.slice(from, from + limit);
  const found = await deps.records.getMany([...new Set(ids)].map((id) => cardRef(box.project, id)));
  const byId = new Map(found.map((card) => [card.id, card]));
  const cards: Card[] = [];
  let bytes = 0;
  for (const [index, id] of ids.entries()) {
    const card = byId.get(id);
    if (!card) continue;
    bytes += 'blob' in card.content ? card.content.bytes : INLINE_CARD_BYTES;
    if (bytes > MAX_PAGE_BYTES && cards.length > 0) return { cards, next: from + index };
    cards.push(card);
  }
  const next = from + ids.length;
  return { cards, next: next < box.cards.length ? next : undefined };
};
