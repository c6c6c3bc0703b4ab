import { assertBoxCapacity, type Box, boxRef, getBox } from '../../cards/box.ts';
import { getRequiredCards } from '../../cards/put-card.ts';
import type { Deps } from '../../identity/deps.ts';
import { ParleyError } from '../../kernel/errors.ts';
import { retryOnConflict } from '../../kernel/retry-on-conflict.ts';
import { agentStateRef, isAgentState } from '../../model/agent-state.ts';
import { equals } from '../../ports/conditions.ts';
import type { Item, TransactionWrite } from '../../ports/records.ts';
import { requireActive, staleTurnError } from './rules.ts';

interface AppendRequest {
  boxId: string;
  cards: readonly string[];
  /** Absent for administrators and Parley. */
  writer?: string;
  /** For the box of a turn. */
  epoch?: number;
}

/** A writer may have many calls under way at once. These last for about 10 s. */
const APPEND_RETRIES = { attempts: 100, pauseMs: 5, maxPauseMs: 200 };

/** Idempotent: a card that is in the box is not appended again. */
export const appendToBox = async (deps: Deps, project: string, append: AppendRequest): Promise<Box> => {
  const { boxId, cards } = append;
  const { retentionMs, perBox } = deps.config.cards;
  await getRequiredCards(deps, project, cards);
  const token = deps.newId();
  return retryOnConflict(`the box ${boxId}`, APPEND_RETRIES, async () => {
    const box = await getBox(deps, project, boxId);
    assertWritable(box, append);
    const list = [...box.cards, ...new Set(cards.filter((id) => !box.cards.includes(id)))];
    assertBoxCapacity(list, perBox);
    const set = { cards: list, expires: deps.clock.now() + retentionMs };
    const write = { kind: 'update' as const, key: boxRef(project, boxId), change: { if: equals('v', box.v), set } };
    const guard = buildTurnGuard(box, append.epoch);
    const written = await deps.records.transact(guard ? [write, guard.check] : [write], token);
    if (written.outcome === 'written') return { ...box, ...set };
    if (guard && written.at === 1) throw guard.toError(written.existing);
    return undefined;
  });
};

/** In the same transaction. */
const buildTurnGuard = ({ project, writer = '', turn }: Box, epoch: number | undefined) => {
  if (turn === undefined || epoch === undefined) return undefined;
  const check: TransactionWrite = {
    kind: 'check',
    key: agentStateRef(project, writer),
    if: requireActive({ turn, epoch }).holds,
  };
  const toError = (head: Item | undefined) =>
    staleTurnError({ turn, epoch }, head && isAgentState(head) ? head : undefined);
  return { check, toError };
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
