import { setTimeout as pause } from 'node:timers/promises';
import { assertBoxCapacity, type Box, boxRef, getBox } from '../../cards/box.ts';
import { getRequiredCards } from '../../cards/put-card.ts';
import type { Deps } from '../../identity/deps.ts';
import { ParleyError } from '../../kernel/errors.ts';
import { agentStateRef, isAgentState } from '../../model/agent-state.ts';
import { equals } from '../../ports/conditions.ts';
import type { Item, TransactionWrite } from '../../ports/records.ts';
import { requireActive, staleTurnError } from './rules.ts';

export interface AppendRequest {
  boxId: string;
  cards: readonly string[];
  /** Absent where an administrator or Parley itself appends. */
  writer?: string;
  /** A box of a turn is written to only while the turn has this epoch. */
  epoch?: number;
}

/**
 * A writer may have many calls under way at once: each that gets in makes the others look again, after pauses that grow and differ.
 * Whoever has had no luck for so long is asked to try again.
 */
const MAX_RETRY_MS = 10_000;
const BACKOFF_MS = 5;
const MAX_BACKOFF_MS = 200;

/** Puts cards behind those that are there. One that the box has already is not put in again, so that repeating an append is safe. */
export const appendToBox = async (deps: Deps, project: string, append: AppendRequest): Promise<Box> => {
  const { boxId, cards } = append;
  const { retentionMs, perBox } = deps.config.cards;
  await getRequiredCards(deps, project, cards);
  const token = deps.newId();
  const until = performance.now() + MAX_RETRY_MS;
  for (let attempt = 0; performance.now() < until; attempt++) {
    const box = await getBox(deps, project, boxId);
    assertWritable(box, append);
    const list = [...box.cards, ...new Set(cards.filter((id) => !box.cards.includes(id)))];
    assertBoxCapacity(list, perBox);
    const set = { cards: list, expires: deps.clock.now() + retentionMs };
    const write = { kind: 'update' as const, key: boxRef(project, boxId), change: { if: equals('v', box.v), set } };
    const gate = buildTurnGuard(box, append.epoch);
    const written = await deps.records.transact(gate ? [write, gate.check] : [write], token);
    if (written.outcome === 'written') return { ...box, ...set };
    if (gate && written.at === 1) throw gate.refused(written.existing);
    await pause(Math.random() * Math.min(BACKOFF_MS * 2 ** attempt, MAX_BACKOFF_MS));
  }
  throw new ParleyError('conflict', `Too many writes to the box ${boxId} at once. Try again.`);
};

/** In the same transaction: that the turn is still its writer's. */
const buildTurnGuard = ({ project, writer = '', turn }: Box, epoch: number | undefined) => {
  if (turn === undefined || epoch === undefined) return undefined;
  const check: TransactionWrite = {
    kind: 'check',
    key: agentStateRef(project, writer),
    if: requireActive({ turn, epoch }).holds,
  };
  const refused = (head: Item | undefined) =>
    staleTurnError({ turn, epoch }, head && isAgentState(head) ? head : undefined);
  return { check, refused };
};

const assertWritable = (box: Box, { writer, epoch }: AppendRequest): void => {
  if (box.kind === 'context') {
    throw new ParleyError('box_read_only', `The box ${box.id} is a context box, which never changes.`);
  }
  if (writer !== undefined && writer !== box.writer) {
    throw new ParleyError('not_writer', `Only ${box.writer} may append to the box ${box.id}.`, {
      details: { writer: box.writer },
    });
  }
  if (box.turn !== undefined && epoch === undefined) {
    throw new ParleyError('invalid_request', `The box ${box.id} belongs to the turn ${box.turn}: say its turn_epoch.`);
  }
};
