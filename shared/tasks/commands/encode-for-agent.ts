import { offloadForDialect } from '../../cards/offload-content.ts';
import type { Dialect } from '../../dialects/dialect.ts';
import { getEncoder } from '../../dialects/encoder-registry.ts';
import type { Deps } from '../../identity/deps.ts';
import { type JsonObject, measureJson } from '../../kernel/json/json.ts';
import type { Task } from '../../model/task.ts';
import { loadContent } from '../../storage/content.ts';
import { loadDependencyResults } from '../dependencies/dependency-results.ts';
import { putAlias } from '../ids/aliases.ts';
import { buildRecipientShortId } from '../ids/short-ids.ts';

/** Stores the id under which agents of the dialect know the task, if it differs. */
export const ensureAlias = (
  deps: Deps,
  project: string,
  { toAliasId }: Pick<Dialect, 'toAliasId'>,
  taskId: string,
): Promise<void> | undefined => {
  const id = toAliasId?.(taskId) ?? taskId;
  return id === taskId ? undefined : putAlias(deps, project, id, taskId);
};

/** The size of `"results":` and a comma. */
const RESULTS_FIELD_BYTES = 16;

/** The task as a request, with an id that the agent can use. */
export const encodeRequestFor = async (
  deps: Deps,
  task: Task,
  dialect: Dialect,
  agent: string | undefined,
  called = task.id,
): Promise<JsonObject> => {
  const { project, from, parent } = task;
  if (parent !== undefined) await ensureAlias(deps, project, dialect, parent);
  // A request in the same dialect got its short id on arrival.
  const isUnnamed = task.dialect !== dialect.name || called !== task.id;
  if (agent !== undefined && dialect.usesShortIds && isUnnamed) {
    const naming = { to: agent, sentAt: task.createdAt, now: deps.clock.now(), aliasId: called };
    await deps.records.create(buildRecipientShortId(task, naming), deps.newId());
  }
  const content = await loadContent(deps.blobs, project, task.input);
  const isOwn = task.dialect === dialect.name;
  const input = await offloadForDialect(deps, dialect, { project, from, type: 'task.instruction', isOwn }, content);
  const shown = called === task.id ? task : { ...task, id: called };
  const { encodeRequest } = getEncoder(dialect);
  const message = encodeRequest(shown, input);
  if (!task.dependencyIds?.length) return message;
  const maxBytes = dialect.getMaxMessageBytes?.(deps.config);
  const room = maxBytes && Math.max(0, maxBytes - measureJson(message).bytes - RESULTS_FIELD_BYTES);
  const results = await loadDependencyResults(deps, dialect, task, room);
  return results === undefined ? message : encodeRequest(shown, input, results);
};
