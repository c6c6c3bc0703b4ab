import type { Deps } from '../identity/deps.ts';
import { fitIntoResponse } from '../kernel/response-size.ts';
import type { Box } from './box.ts';
import { type Card, cardRef } from './card.ts';
import { INLINE_CARD_BYTES } from './put-card.ts';

interface CardPage {
  cards: Card[];
  next?: number;
}

/** Expired cards are left out. */
export const listBoxCards = async (deps: Deps, box: Box, from: number, limit: number): Promise<CardPage> => {
  const ids = box.cards.slice(from, from + limit);
  const found = await deps.records.getMany([...new Set(ids)].map((id) => cardRef(box.project, id)));
  const byId = new Map(found.map((card) => [card.id, card]));
  const kept = ids.flatMap((id, index) => {
    const card = byId.get(id);
    return card ? [{ card, index }] : [];
  });
  const page = fitIntoResponse(kept, ({ card: { content } }) =>
    'blob' in content ? content.bytes : INLINE_CARD_BYTES,
  );
  const next = from + (kept[page.length]?.index ?? ids.length);
  return { cards: page.map(({ card }) => card), next: next < box.cards.length ? next : undefined };
};
