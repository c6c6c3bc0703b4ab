import type { Batch } from '../batches/batch.ts';
import { batchView, noteOf } from '../batches/batch-view.ts';
import { fittingFor } from '../cards/large-content.ts';
import type { Deps } from '../deps.ts';
import type { Dialect } from '../dialects/dialect.ts';
import { encoderOf } from '../dialects/encoders.ts';
import type { JsonObject } from '../json/json.ts';
import type { Note } from '../notes/note.ts';
import { shownArtifacts } from '../tasks/artifacts.ts';
import { loaded } from '../tasks/content.ts';
import type { Outcome } from './delivery.ts';

export const noteInWords = async (deps: Deps, note: Note, dialect: Dialect): Promise<JsonObject> => {
  const { id, project, from } = note;
  const content = await unlessLost(deps, id, loaded(deps.blobs, project, note.content));
  return encoderOf(dialect).encodeNote(
    note,
    await fittingFor(deps, dialect, { project, from, type: 'sys.message' }, content ?? null),
  );
};

export const batchInWords = async (deps: Deps, batch: Batch, dialect: Dialect): Promise<JsonObject> => {
  const note = noteOf(batch);
  const { project, from } = note;
  const view = await batchView(deps, batch);
  return encoderOf(dialect).encodeNote(
    note,
    await fittingFor(deps, dialect, { project, from, type: 'sys.message' }, view),
  );
};

export const outcomeInWords = async (
  deps: Deps,
  project: string,
  outcome: Outcome,
  dialect: Dialect,
): Promise<JsonObject> => {
  const { id, from, output, artifacts, task } = outcome;
  const content = await unlessLost(deps, id, output && loaded(deps.blobs, project, output));
  const about = { project, from, type: 'task.deliverable' } as const;
  return encoderOf(dialect).encodeOutcome(
    outcome,
    content === undefined ? undefined : await fittingFor(deps, dialect, about, content),
    await unlessLost(deps, id, shownArtifacts(deps.blobs, project, task.id, artifacts)),
  );
};

/** A message whose content is lost must not keep its reader from all others. */
const unlessLost = async <T>(deps: Deps, id: string, content: T | Promise<T> | undefined): Promise<T | undefined> => {
  try {
    return await content;
  } catch (error) {
    deps.log('error', 'the content of a message is lost', { messageId: id, error: String(error) });
    return undefined;
  }
};
