import { loadBatchView, toDirectMessage } from '../../batches/batch-view.ts';
import { offloadForDialect } from '../../cards/offload-content.ts';
import { putCard } from '../../cards/put-card.ts';
import type { Dialect } from '../../dialects/dialect.ts';
import { getEncoder } from '../../dialects/encoder-registry.ts';
import type { Deps } from '../../identity/deps.ts';
import type { JsonObject } from '../../kernel/json/json.ts';
import type { Batch } from '../../model/batch.ts';
import type { TaskOutcome } from '../../model/delivery.ts';
import type { DirectMessage } from '../../model/direct-message.ts';
import type { ReportedTask } from '../../model/task.ts';
import { loadContent } from '../../storage/content.ts';
import { loadArtifactViews } from '../../tasks/artifacts.ts';

export const encodeMessageFor = async (
  deps: Deps,
  directMessage: DirectMessage,
  dialect: Dialect,
): Promise<JsonObject> => {
  const { id, project, from } = directMessage;
  const content = await loadOrLog(deps, id, loadContent(deps.blobs, project, directMessage.content));
  if (isReportedTask(directMessage, content)) return getEncoder(dialect).encodeReport(content);
  const isOwn = directMessage.dialect === dialect.name;
  return getEncoder(dialect).encodeDirectMessage(
    directMessage,
    await offloadForDialect(deps, dialect, { project, from, type: 'sys.message', isOwn }, content ?? null),
  );
};

/** Otherwise it is stored as it was sent. */
const isReportedTask = ({ taskId }: DirectMessage, content: unknown): content is ReportedTask =>
  taskId !== undefined && content !== undefined;

export const encodeBatchFor = async (deps: Deps, batch: Batch, dialect: Dialect): Promise<JsonObject> => {
  const directMessage = toDirectMessage(batch);
  const { project, from } = directMessage;
  const view = await loadBatchView(deps, batch);
  return getEncoder(dialect).encodeDirectMessage(
    directMessage,
    await offloadForDialect(deps, dialect, { project, from, type: 'sys.message' }, view),
  );
};

export const encodeOutcomeFor = async (
  deps: Deps,
  project: string,
  outcome: TaskOutcome,
  dialect: Dialect,
): Promise<JsonObject> => {
  const { id, from, output, artifacts, task } = outcome;
  const content = await loadOrLog(deps, id, output && loadContent(deps.blobs, project, output));
  const isOwn = outcome.extensions[dialect.name] !== undefined;
  const about = { project, from, type: 'task.deliverable', isOwn } as const;
  const card =
    content !== undefined && isDeliverable(dialect, outcome)
      ? await putCard(deps, project, from, about.type, content)
      : undefined;
  return getEncoder(dialect).encodeOutcome(
    outcome,
    content === undefined ? undefined : await offloadForDialect(deps, dialect, about, content),
    await loadOrLog(deps, id, loadArtifactViews(deps.blobs, project, task.id, artifacts)),
    card?.id,
  );
};

/** Readers of turns get the card, which the turn may create later. */
const isDeliverable = ({ natsBinding }: Dialect, { status, task }: TaskOutcome): boolean =>
  status === 'completed' && natsBinding?.getTurnRole?.(task.extensions) === 'turn';

/** A lost content must not block the others. */
const loadOrLog = async <T>(deps: Deps, id: string, content: T | Promise<T> | undefined): Promise<T | undefined> => {
  try {
    return await content;
  } catch (error) {
    deps.log('error', 'message content missing', { messageId: id, error: String(error) });
    return undefined;
  }
};
