import { CARD_ID_PATTERN, cardRef } from '../../cards/card.ts';
import { getRequiredCards, putCard } from '../../cards/put-card.ts';
import type { Deps } from '../../identity/deps.ts';
import type { AfterExecution } from '../../identity/tools/tool.ts';
import { ParleyError } from '../../kernel/errors.ts';
import { SYSTEM_SENDER } from '../../kernel/ids.ts';
import { isObject, type Json } from '../../kernel/json/json.ts';
import type { TurnEnd } from '../../model/agent-state.ts';
import type { Turn } from '../../model/turn.ts';
import { loadContent } from '../../storage/content.ts';

/** For turns that ended without their worker. */
export const createDeliverableCard = async (
  deps: Deps,
  { project, id, agent }: Pick<Turn, 'project' | 'id' | 'agent'>,
  { status, error, errorCode }: TurnEnd,
): Promise<string> => {
  const content = { agent_turn_id: id, agent_id: agent, status, error, error_code: errorCode };
  const card = await putCard(deps, project, SYSTEM_SENDER, 'task.deliverable', content);
  return card.id;
};

/** The card of a report that ended the turn is checked here. Without it the turn has failed. */
export const verifyDeliverable = async (deps: Deps, project: string, end: TurnEnd): Promise<TurnEnd> => {
  if (end.toolResultCard === undefined) return end;
  try {
    await getRequiredCards(deps, project, [end.toolResultCard]);
    return end;
  } catch (error) {
    if (!(error instanceof ParleyError && error.code === 'unknown_card')) throw error;
    return { ...end, status: 'failed', deliverable: undefined, error: error.message, errorCode: error.code };
  }
};

interface ToolResult {
  status: string;
  afterExecution: AfterExecution;
  result?: Json;
  error?: { code: string; message: string };
}

/** A result from Parley. Readers expect exactly these fields. */
export const createToolResultCard = async (
  deps: Deps,
  project: string,
  { status, afterExecution, result = null, error }: ToolResult,
): Promise<string> => {
  const content = {
    status,
    after_execution: afterExecution,
    result,
    error: error ? { code: error.code, message: error.message } : null,
  };
  const card = await putCard(deps, project, SYSTEM_SENDER, 'tool.result', content);
  return card.id;
};

const MAX_SUMMARY_CHARACTERS = 2000;

/** Its `summary`, or the whole of a text. */
export const loadSummary = async (deps: Deps, project: string, id = ''): Promise<string | undefined> => {
  const card = CARD_ID_PATTERN.test(id) ? await deps.records.get(cardRef(project, id)) : undefined;
  const content = card && (await loadContent(deps.blobs, project, card.content));
  const summary = isObject(content) ? content.summary : content;
  return typeof summary === 'string' ? summary.slice(0, MAX_SUMMARY_CHARACTERS) : undefined;
};
