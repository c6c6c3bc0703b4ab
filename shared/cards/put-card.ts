import type { Deps } from '../identity/deps.ts';
import { ParleyError } from '../kernel/errors.ts';
import { assertMaxSize, type Json } from '../kernel/json/json.ts';
import { lessThan } from '../ports/conditions.ts';
import type { NewItem } from '../ports/records.ts';
import { deleteOrphans, storeContent } from '../storage/content.ts';
import { CARD_ID_PATTERN, type Card, type CardType, cardRef, computeCardId } from './card.ts';

/**
 * Per million cards in dollars: a KB in a record costs 0.63 to write, 0.06 per read (two), 0.25 per month; compression
 * halves it. A blob costs 6.2 at any size. Break-even: 12 KB, or 6 KB incompressible.
 */
export const INLINE_CARD_BYTES = 8192;

export const putCard = async (
  deps: Deps,
  project: string,
  from: string,
  type: CardType,
  content: Json,
): Promise<{ id: string; isNew: boolean }> => {
  const whole = assertMaxSize('The content of the card', content, deps.config.limits.outputBytes);
  const id = computeCardId(project, type, content);
  const now = deps.clock.now();
  const expires = now + deps.config.cards.retentionMs;
  const held = await storeContent(deps, project, id, whole, INLINE_CARD_BYTES);
  const card: NewItem<Card> = {
    ...cardRef(project, id),
    sk: 'card',
    project,
    id,
    type,
    from,
    createdAt: now,
    content: held,
    expires,
  };
  const made = await deps.records.create<Card>(card, deps.newId());
  if (made.outcome === 'written') return { id, isNew: true };
  await deleteOrphans(deps.blobs, [held], [made.existing?.content]);
  if (made.existing) await renewCard(deps, made.existing);
  return { id, isNew: false };
};

/** Renews them: the caller relies on the cards for a while. */
export const getRequiredCards = async (deps: Deps, project: string, ids: readonly string[]): Promise<Card[]> => {
  const wanted = [...new Set(ids)];
  const found = await deps.records.getMany(
    wanted.filter((id) => CARD_ID_PATTERN.test(id)).map((id) => cardRef(project, id)),
  );
  const missing = wanted.filter((id) => !found.some((card) => card.id === id));
  if (missing.length > 0) throw unknownCardsError(missing);
  await Promise.all(found.map((card) => renewCard(deps, card)));
  return found;
};

export const unknownCardsError = ([first = '', ...others]: readonly string[]): ParleyError =>
  new ParleyError('unknown_card', `There is no card ${first.slice(0, 80)}. POST /v1/cards makes one.`, {
    details: { unknown: [first, ...others].slice(0, 20).map((id) => id.slice(0, 80)) },
  });

/** Only in the second half of its lifetime, so that a card used daily is not written daily. */
const renewCard = async ({ records, clock, config, newId }: Deps, { project, id, expires }: Card): Promise<void> => {
  const { retentionMs } = config.cards;
  const until = clock.now() + retentionMs;
  if (expires > until - retentionMs / 2) return;
  const change = { if: lessThan('expires', until), set: { expires: until } };
  const renewed = await records.update(cardRef(project, id), change, newId());
  if (renewed.outcome === 'written' || renewed.existing) return;
  throw new ParleyError('conflict', `The card ${id} has just expired. Try again.`);
};

export const getCard = async (deps: Deps, project: string, id: string): Promise<Card> => {
  const card = CARD_ID_PATTERN.test(id) ? await deps.records.get(cardRef(project, id)) : undefined;
  if (card) return card;
  throw new ParleyError('card_not_found', `There is no card ${id.slice(0, 80)}, or it has expired.`);
};
