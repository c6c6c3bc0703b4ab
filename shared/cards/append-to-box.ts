import type { Deps } from '../deps.ts';
import { ParleyError } from '../errors.ts';
import { is } from '../ports/conditions.ts';
import type { Item, Write } from '../ports/records.ts';
import { headRef, isHead } from '../turns/head.ts';
import { gated, stale } from '../turns/rules.ts';
import { type Box, boxRef, findBox, refuseTooMany } from './box.ts';
import { requireCards } from './keep-card.ts';

export interface Append {
  boxId: string;
  cards: readonly string[];
  /** Absent where an administrator or Parley itself appends. */
  writer?: string;
  /** A box of a turn is written to only while the turn has this epoch. */
  epoch?: number;
}

/** Others than the one writer append seldom: the turn's own end, or an administrator. */
const MAX_REFUSALS = 3;

/** Puts cards behind those that are there. One that the box has already is not put in again, so that repeating an append is safe. */
export const appendToBox = async (deps: Deps, project: string, append: Append): Promise<Box> => {
  const { boxId, cards } = append;
  const { keepMs, perBox } = deps.config.cards;
  await requireCards(deps, project, cards);
  const token = deps.newId();
  for (let refusals = 0; refusals <= MAX_REFUSALS; refusals++) {
    const box = await findBox(deps, project, boxId);
    refuseForeign(box, append);
    const list = [...box.cards, ...new Set(cards.filter((id) => !box.cards.includes(id)))];
    refuseTooMany(list, perBox);
    const set = { cards: list, expires: deps.clock.now() + keepMs };
    const write = { kind: 'update' as const, key: boxRef(project, boxId), change: { if: is('v', box.v), set } };
    const gate = gateOf(box, append.epoch);
    const written = await deps.records.transact(gate ? [write, gate.check] : [write], token);
    if (written.outcome === 'written') return { ...box, ...set };
    if (gate && written.at === 1) throw gate.refused(written.current);
  }
  throw new ParleyError('conflict', `Too many writes to the box ${boxId} at once. Try again.`);
};

/** In the same transaction: that the turn is still its writer's. */
const gateOf = ({ project, writer = '', turn }: Box, epoch: number | undefined) => {
  if (turn === undefined || epoch === undefined) return undefined;
  const check: Write = { kind: 'check', key: headRef(project, writer), if: gated({ turn, epoch }).holds };
  const refused = (head: Item | undefined) => stale({ turn, epoch }, head && isHead(head) ? head : undefined);
  return { check, refused };
};

const refuseForeign = (box: Box, { writer, epoch }: Append): void => {
  if (box.kind === 'context') {
    throw new ParleyError('box_read_only', `The box ${box.id} is a context box, which never changes.`);
  }
  if (writer !== undefined && writer !== box.writer) {
    throw new ParleyError('not_writer', `Only ${box.writer} may append to the box ${box.id}.`, {
      facts: { writer: box.writer },
    });
  }
  if (box.turn !== undefined && epoch === undefined) {
    throw new ParleyError('invalid_request', `The box ${box.id} belongs to the turn ${box.turn}: say its turn_epoch.`);
  }
};
