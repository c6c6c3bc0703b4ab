import type { Deps } from '../identity/deps.ts';
import { ParleyError } from '../kernel/errors.ts';
import { fitIntoResponse } from '../kernel/response-size.ts';
import type { Item, Ref } from '../ports/records.ts';
import { type Card, cardRef } from './card.ts';
import { INLINE_CARD_BYTES } from './put-card.ts';

export const BOX_KINDS = ['context', 'output'] as const;
type BoxKind = (typeof BOX_KINDS)[number];

/**
 * A context box never changes; an output box has one writer, which appends. The list is in the record, bounded by
 * `cards.perBox`: one read, one write.
 */
export interface Box extends Item {
  sk: 'box';
  project: string;
  id: string;
  kind: BoxKind;
  cards: string[];
  from: string;
  /** Output boxes only. */
  writer?: string;
  /** The writer must show the fencing token of this turn. */
  turn?: string;
  createdAt: number;
  expires: number;
}

const BOX_ID = /^[\w-]{1,64}$/;
export const boxRef = (project: string, id: string): Ref<Box> => ({ pk: `${project}#box#${id}`, sk: 'box' });

export const getBox = async (deps: Deps, project: string, id: string): Promise<Box> => {
  const box = BOX_ID.test(id) ? await deps.records.get(boxRef(project, id)) : undefined;
  if (box) return box;
  throw new ParleyError('box_not_found', `There is no box ${id.slice(0, 64)}, or it has expired.`);
};

export const assertBoxExists = async (deps: Deps, project: string, id: string | undefined): Promise<void> => {
  if (id === undefined || (BOX_ID.test(id) && (await deps.records.get(boxRef(project, id))))) return;
  throw new ParleyError('unknown_box', `There is no box ${id.slice(0, 64)}. POST /v1/boxes makes one.`);
};

export const assertBoxCapacity = (cards: readonly string[], limit: number): void => {
  if (cards.length <= limit) return;
  throw new ParleyError('box_full', `The box would have ${cards.length} cards; ${limit} are allowed.`, {
    details: { limit, cards: cards.length },
  });
};

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
