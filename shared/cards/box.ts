import type { Deps } from '../identity/deps.ts';
import { ParleyError } from '../kernel/errors.ts';
import type { Item, Ref } from '../ports/records.ts';

export const BOX_KINDS = ['context', 'output'] as const;
export type BoxKind = (typeof BOX_KINDS)[number];

/**
 * An ordered list of cards. A context box is made whole and never changes; an output box grows at its end, by the hand of one
 * writer. The list stands in the record, so that reading it is one read and appending one write; it is bounded by `cards.perBox`.
 */
export interface Box extends Item {
  sk: 'box';
  project: string;
  id: string;
  kind: BoxKind;
  /** The ids of the cards. */
  cards: string[];
  /** Who made it. */
  from: string;
  /** The one agent that may append; of an output box only. */
  writer?: string;
  /** The turn that it belongs to: whoever appends must show that the turn is still its own. */
  turn?: string;
  createdAt: number;
  expires: number;
}

/** Callers may choose the ids of output boxes. */
const BOX_ID = /^[\w-]{1,64}$/;
export const boxRef = (project: string, id: string): Ref<Box> => ({ pk: `${project}#box#${id}`, sk: 'box' });

export const getBox = async (deps: Deps, project: string, id: string): Promise<Box> => {
  const box = BOX_ID.test(id) ? await deps.records.get(boxRef(project, id)) : undefined;
  if (box) return box;
  throw new ParleyError('box_not_found', `There is no box ${id.slice(0, 64)}, or it has expired.`);
};

/** A box that something refers to, if it does, must be there. */
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
