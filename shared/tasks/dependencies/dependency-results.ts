import { offloadIfLarge } from '../../cards/offload-content.ts';
import type { Dialect } from '../../dialects/dialect.ts';
import type { Caller } from '../../identity/auth/authenticate.ts';
import type { Deps } from '../../identity/deps.ts';
import { toShortId } from '../../kernel/ids.ts';
import { type Json, type JsonObject, measureJson, toObjectOrEmpty } from '../../kernel/json/json.ts';
import { holderKey, isAssigned, type Task, taskRef } from '../../model/task.ts';
import { loadContent, type StoredContent } from '../../storage/content.ts';
import { buildArtifactUri } from '../artifacts.ts';
import { listLinks } from './link-fanout.ts';

/** Larger results become cards. A claim returns ten tasks with 3 MiB of inputs, and a Lambda response holds 6 MB. */
const MAX_RESULTS_BYTES = 128 * 1024;
/** Each content may have 2 MB. */
const CONCURRENCY = 4;

/**
 * The outputs of dependencies, under the requester's names for them. Computed at each delivery and stored nowhere.
 * `room` is what is left in a message of limited size; undefined if not even a reference fits.
 */
export const loadDependencyResults = async (
  deps: Deps,
  dialect: Pick<Dialect, 'name' | 'maxContentBytes' | 'usesShortIds'>,
  task: Task,
  room = Infinity,
): Promise<JsonObject | undefined> => {
  const ids = [...new Set(task.dependencyIds)];
  if (ids.length === 0) return undefined;
  const found = await deps.records.getMany(ids.map((id) => taskRef(task.project, id)));
  const predecessors = ids.map((id) => ({ id, task: found.find((one) => one.id === id) }));
  const mayStand = pickInlineResults(
    predecessors,
    Math.min(MAX_RESULTS_BYTES, dialect.maxContentBytes ?? Infinity, room),
  );
  const handed = predecessors.filter(({ task: one }) => !one || !isOfSameCycle(task, one) || isResultShared(task, one));
  const entries: [string, JsonObject][] = [];
  for (let at = 0; at < handed.length; at += CONCURRENCY) {
    const some = handed.slice(at, at + CONCURRENCY).map(async ({ id, task: one }): Promise<[string, JsonObject]> => {
      const isThere = one && isOfSameCycle(task, one);
      return [id, isThere ? await loadDependencyResult(deps, one, mayStand(id)) : { taskId: id, missing: true }];
    });
    entries.push(...(await Promise.all(some)));
  }
  const results = keyById(entries, dialect.usesShortIds === true && task.dialect === dialect.name);
  const about = { project: task.project, from: task.from, type: 'task.deliverable' } as const;
  const fitting = await offloadIfLarge(deps, { ...about, fits: room }, results);
  return measureJson(fitting).bytes <= room ? toObjectOrEmpty(fitting) : undefined;
};

/** A later record belongs to another task with the same id. Clocks differ by less. */
const CLOCK_SKEW_MS = 60_000;
const isOfSameCycle = (task: Task, one: Task): boolean => one.createdAt <= task.createdAt + CLOCK_SKEW_MS;

/** The requester shares its own tasks and results, and those of the same graph. */
const isResultShared = (task: Task, one: Task): boolean =>
  one.status === 'completed' &&
  ((task.graph !== undefined && task.graph === one.graph) || [one.from, one.to, one.holder].includes(task.from));

interface Dependency {
  id: string;
  task: Task | undefined;
}

/** As many as fit, the smallest first. */
const pickInlineResults = (found: Dependency[], bytes: number): ((id: string) => boolean) => {
  const outputs = found.map(({ id, task }) => ({ id, size: measureContent(task?.output) }));
  let left = bytes;
  const inside = new Set<string>();
  for (const { id, size } of outputs.toSorted((a, b) => a.size - b.size)) {
    left -= size;
    if (left >= 0) inside.add(id);
  }
  return (id) => inside.has(id);
};

const measureContent = (content: StoredContent | undefined): number => {
  if (!content) return 0;
  return 'json' in content ? measureJson(content.json).bytes : content.bytes;
};

const loadDependencyResult = async (
  deps: Deps,
  { project, id, holder, output, artifacts }: Task,
  isInside: boolean,
) => {
  const result = output && (await loadResult(deps, project, id, holder ?? id, output, isInside));
  return {
    taskId: id,
    agent: holder,
    ...(output && result === undefined ? LOST_RESULT : { result }),
    ...buildArtifactList(id, artifacts),
  };
};

const LOST_RESULT = { missing: true };

/** A lost content must not block the others. */
const loadResult = async (
  deps: Deps,
  project: string,
  id: string,
  from: string,
  output: StoredContent,
  isInside: boolean,
): Promise<Json | undefined> => {
  try {
    const content = await loadContent(deps.blobs, project, output);
    const fits = isInside ? Infinity : 0;
    return await offloadIfLarge(deps, { project, from, type: 'task.deliverable', fits }, content);
  } catch (error) {
    deps.log('error', 'dependency result missing', { taskId: id, error: String(error) });
    return undefined;
  }
};

/** Longer lists are only with the task itself. */
const MAX_ARTIFACT_LIST_BYTES = 1024;

const buildArtifactList = (id: string, artifacts: Task['artifacts']): JsonObject => {
  if (!artifacts) return {};
  const all = artifacts.index.map(({ name, type, bytes }) => ({ name, type, bytes, uri: buildArtifactUri(id, name) }));
  const some = all.filter((_, at) => measureJson(all.slice(0, at + 1)).bytes <= MAX_ARTIFACT_LIST_BYTES);
  return {
    artifacts: some,
    moreArtifacts: some.length < all.length ? `/v1/tasks/${encodeURIComponent(id)}/artifacts` : undefined,
  };
};

/** By short id if the request did so, unless two are the same. */
const keyById = (entries: [string, JsonObject][], isShort: boolean): JsonObject => {
  const names = entries.map(([id]) => (isShort ? toShortId(id) : id));
  const isUnique = new Set(names).size === names.length;
  return Object.fromEntries(entries.map(([id, one], at) => [isUnique ? (names[at] ?? id) : id, one]));
};

/** Of an agent with more tasks, only the newest count. */
const MAX_ASSIGNED_READ = 100;

/** Whether the caller holds a task that depends on this one, and so may read it. */
export const isDependencyOfAssigned = async (deps: Deps, caller: Caller, task: Task): Promise<boolean> => {
  if (caller.role === 'admin' || task.status !== 'completed') return false;
  const { project, id } = caller.registered.agent;
  const isAfter = (one: Task): boolean =>
    one.holder === id &&
    isAssigned(one) &&
    one.dependencyIds?.includes(task.id) === true &&
    isOfSameCycle(one, task) &&
    isResultShared(one, task);
  const p = holderKey(project, id);
  const held = await deps.records.query<Task>({
    index: 'byHolder',
    pk: p,
    newestFirst: true,
    limit: MAX_ASSIGNED_READ,
  });
  if (held.some(isAfter)) return true;
  if (task.dependentCount === undefined) return false;
  // The index may lag; links do not.
  const links = await listLinks(deps.records, task.pk, 'dependent');
  return (await deps.records.getMany(links.map(({ taskId }) => taskRef(project, taskId)))).some(isAfter);
};
