import type { Deps } from '../../identity/deps.ts';
import { ParleyError } from '../../kernel/errors.ts';
import { computeFingerprint } from '../../kernel/json/fingerprint.ts';
import { type Turn, turnRef } from '../../model/turn.ts';
import type { NewItem } from '../../ports/records.ts';
import { createDeliverableCard } from './result-cards.ts';

/**
 * A call that the protocol refuses ends as a turn that failed, so that whoever watches the agent learns of it. The same call
 * again is the same turn, and told once. Gives the refusal, with the turn's id.
 */
export const createRejectedTurn = async (
  deps: Deps,
  wanted: NewItem<Turn>,
  refusal: ParleyError,
): Promise<ParleyError> => {
  const { project, fingerprint, due: _due, ...turn } = wanted;
  const id = `turn_${computeFingerprint([refusal.code, wanted.agent, fingerprint])}`;
  const end = { status: 'failed' as const, at: wanted.createdAt, error: refusal.message, errorCode: refusal.code };
  const refused = { ...turn, ...turnRef(project, id), sk: 'turn' as const, project, id, isRunAsTask: undefined };
  const deliverable = await createDeliverableCard(deps, refused, end);
  const expires = wanted.createdAt + deps.config.turns.retentionMs;
  await deps.records.create<Turn>({ ...refused, state: 'ended', end: { ...end, deliverable }, expires }, deps.newId());
  const { code, message, issues, details } = refusal;
  return new ParleyError(code, message, { issues, details: { ...details, agent_turn_id: id } });
};
