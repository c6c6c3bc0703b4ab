import type { Deps } from '../identity/deps.ts';
import { ParleyError } from '../kernel/errors.ts';
import { computeDigest } from '../kernel/json/fingerprint.ts';
import { agentStateRef } from '../model/agent-state.ts';
import { turnRef } from '../model/turn.ts';
import { lessThan } from '../ports/conditions.ts';
import type { NewItem } from '../ports/records.ts';
import { assertBoxCapacity, type Box, boxRef } from './box.ts';
import { getRequiredCards } from './put-card.ts';

interface CreateBoxResult {
  box: Box;
  isNew: boolean;
}

/** Identified by its content: the same cards in the same order are the same box. */
export const createContextBox = async (
  deps: Deps,
  project: string,
  from: string,
  cards: string[],
): Promise<CreateBoxResult> => {
  const id = `box_${computeDigest(['context', cards])}`;
  return createOrRenewBox(deps, { ...buildBox(deps, project, id, from), kind: 'context', cards });
};

interface OutputBoxInput {
  id: string;
  writer: string;
  turn?: string;
  cards?: string[];
}

const buildOutputBox = (
  deps: Deps,
  project: string,
  from: string,
  { id, writer, turn, cards = [] }: OutputBoxInput,
): NewItem<Box> => ({ ...buildBox(deps, project, id, from), kind: 'output', cards, writer, turn });

/** Idempotent, whatever was appended since. */
export const createOutputBox = async (
  deps: Deps,
  project: string,
  from: string,
  wanted: OutputBoxInput,
): Promise<CreateBoxResult> => {
  if (wanted.turn !== undefined) await assertTurnWriter(deps, project, wanted.writer, wanted.turn);
  const result = await createOrRenewBox(deps, buildOutputBox(deps, project, from, wanted));
  const { kind, writer, turn } = result.box;
  if (kind === 'output' && writer === wanted.writer && turn === wanted.turn) return result;
  throw new ParleyError('id_reused', `There is another box with the id ${wanted.id}. Give a new one a new id.`);
};

/** The agent state knows the turn first; the turn's own record keeps it longer. */
const assertTurnWriter = async ({ records }: Deps, project: string, agent: string, id: string): Promise<void> => {
  if ((await records.get(agentStateRef(project, agent)))?.turn === id) return;
  const turn = await records.get(turnRef(project, id));
  if (turn?.agent === agent && !turn.isForGroup) return;
  throw new ParleyError('turn_not_found', `There is no turn ${id.slice(0, 64)} of the agent ${agent}.`);
};

const buildBox = ({ clock, config }: Deps, project: string, id: string, from: string) => {
  const now = clock.now();
  return {
    ...boxRef(project, id),
    sk: 'box' as const,
    project,
    id,
    from,
    createdAt: now,
    expires: now + config.cards.retentionMs,
  };
};

const createOrRenewBox = async (deps: Deps, box: NewItem<Box>): Promise<CreateBoxResult> => {
  assertBoxCapacity(box.cards, deps.config.cards.perBox);
  await getRequiredCards(deps, box.project, box.cards);
  const created = await deps.records.create<Box>(box, deps.newId());
  if (created.outcome === 'written') return { box: created.after, isNew: true };
  const { expires } = box;
  const renewed = await deps.records.update<Box>(
    boxRef(box.project, box.id),
    { if: lessThan('expires', expires), set: { expires } },
    deps.newId(),
  );
  const current = renewed.outcome === 'written' ? renewed.after : renewed.existing;
  if (current) return { box: current, isNew: false };
  throw new ParleyError('conflict', `The box ${box.id} has just expired. Try again.`);
};
