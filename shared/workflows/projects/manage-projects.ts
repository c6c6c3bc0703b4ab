import type { Config } from '../../config/config.ts';
import { apiKeyRef, buildApiKey, getKeyOwner } from '../../identity/auth/api-key.ts';
import { type Caller, describeCaller } from '../../identity/auth/authenticate.ts';
import { DEFAULT_PROJECT, generateKey, hashKey, toOperatorOwner } from '../../identity/auth/keys.ts';
import type { Deps } from '../../identity/deps.ts';
import { listProjectRecords, MAX_PROJECTS, type Project, projectRef } from '../../identity/projects.ts';
import { queuePausesRef } from '../../identity/queue-pauses.ts';
import { ParleyError } from '../../kernel/errors.ts';
import { DAY_MS } from '../../kernel/retention.ts';
import { retryOnConflict } from '../../kernel/retry-on-conflict.ts';
import { toIso } from '../../ports/clock.ts';
import { equals, exists, notExists, or } from '../../ports/conditions.ts';
import { createApiKey, listApiKeys, rotateApiKey } from '../../registration/manage-keys.ts';
import { computeTombstoneMs } from '../../registration/register-agent.ts';
import { listRemaining } from './list-remaining.ts';

/** The first key of a project, for whoever operates it. As other keys of operators it may be rotated and removed. */
const OWNER_KEY = 'owner';
const PROJECT_RETRIES = { attempts: 5 };

interface WantedProject {
  name: string;
  domains: Project['domains'];
  /** The project is to have what is stored of a removed one with this name. */
  inherit: boolean;
}

interface PutResult {
  project: Project;
  /** Only of a new project, and only now. */
  key?: string;
}

export const assertProjectOperator = ({ project }: Caller): void => {
  if (project === DEFAULT_PROJECT) return;
  throw new ParleyError('forbidden', `Only admin keys of the project ${DEFAULT_PROJECT} create and remove projects.`);
};

export const putProject = (deps: Deps, wanted: WantedProject): Promise<PutResult> =>
  retryOnConflict(`the project ${wanted.name}`, PROJECT_RETRIES, async () => {
    const { name, domains, inherit } = wanted;
    const { reload } = assertCreatedByCalls(deps, name);
    const ref = projectRef(name);
    const known = await deps.records.get(ref);
    if (known?.removedAt !== undefined && !inherit) throw projectRemovedError(known);
    if (known && known.removedAt === undefined) {
      const change = { if: notExists('removedAt'), set: { domains } };
      const written = await deps.records.update(ref, change, deps.newId());
      await reload();
      return written.outcome === 'written' ? { project: written.after } : undefined;
    }
    const key = await createProject(deps, wanted, known);
    await reload();
    const project = await deps.records.get(ref);
    return key !== undefined && project ? { project, key } : undefined;
  });

/** Undefined if somebody else was faster. Both are written or none: a lost key could not be told again. */
const createProject = async (
  deps: Deps,
  { name, domains, inherit }: WantedProject,
  removed: Project | undefined,
): Promise<string | undefined> => {
  const existing = (await listProjectRecords(deps.records)).filter(({ removedAt }) => removedAt === undefined);
  if (existing.length >= MAX_PROJECTS) throw tooManyProjectsError();
  const earlierKeys = await listApiKeys(deps, name);
  if (!removed && !inherit && (earlierKeys.length > 0 || (await listRemaining(deps, name)).length > 0)) {
    if (await deps.records.get(projectRef(name))) return undefined;
    throw leftoversError(name);
  }
  const now = deps.clock.now();
  const key = generateKey(name, toOperatorOwner(OWNER_KEY));
  const apiKey = buildApiKey({
    project: name,
    name: OWNER_KEY,
    agent: undefined,
    scope: 'admin',
    keyHash: hashKey(key),
    createdAt: now,
  });
  const ref = projectRef(name);
  const written = await deps.records.transact(
    [
      removed
        ? {
            kind: 'update',
            key: ref,
            change: { if: equals('v', removed.v), set: { domains, createdAt: now }, unset: ['removedAt', 'expires'] },
          }
        : { kind: 'create', item: { ...ref, name, domains, createdAt: now } },
      { kind: 'create', item: { ...apiKey } },
      // Whoever had one of them may not have what comes now.
      ...earlierKeys
        .filter(({ name: own, agent }) => agent !== undefined || own !== OWNER_KEY)
        .map(({ pk, sk }) => ({ kind: 'remove' as const, key: { pk, sk } })),
    ],
    deps.newId(),
  );
  if (written.outcome === 'refused' && written.at === KEY_WRITE_INDEX) await removeEarlierKey(deps, name);
  deps.directory.invalidate(name, toOperatorOwner(OWNER_KEY));
  return written.outcome === 'written' ? key : undefined;
};

/** Which of the writes of a creation says that there is a key. */
const KEY_WRITE_INDEX = 1;

/** Of a project that the configuration had, and has no more. */
const removeEarlierKey = ({ records, newId }: Deps, name: string): Promise<unknown> =>
  records.transact(
    [
      { kind: 'check', key: projectRef(name), if: or(notExists('name'), exists('removedAt')) },
      { kind: 'remove', key: apiKeyRef(name, undefined, OWNER_KEY) },
    ],
    newId(),
  );

/** Where the first key was lost. */
export const rotateProjectKey = async (deps: Deps, name: string): Promise<string> => {
  await getProject(deps, name);
  const known = await deps.records.get(apiKeyRef(name, undefined, OWNER_KEY));
  const { key } = known
    ? await rotateApiKey(deps, name, { name: OWNER_KEY }, 0)
    : await createApiKey(deps, name, { name: OWNER_KEY, scope: 'admin' });
  return key;
};

export const removeProject = (deps: Deps, caller: Caller, name: string): Promise<true> =>
  retryOnConflict(`the project ${name}`, PROJECT_RETRIES, async () => {
    const project = await getProject(deps, name);
    const remaining = await listRemaining(deps, name);
    if (remaining.length > 0) throw notEmptyError(name, remaining);
    const now = deps.clock.now();
    const keys = await listApiKeys(deps, name);
    const expires = now + computeNameRetentionMs(deps.config);
    const written = await deps.records.transact(
      [
        {
          kind: 'update',
          key: projectRef(name),
          change: { if: equals('v', project.v), set: { removedAt: now, expires } },
        },
        { kind: 'remove', key: queuePausesRef(name) },
        ...keys.map(({ pk, sk }) => ({ kind: 'remove' as const, key: { pk, sk } })),
      ],
      deps.newId(),
    );
    if (written.outcome !== 'written') return undefined;
    await deps.projects?.reload();
    for (const key of keys) deps.directory.revokeKeys(name, getKeyOwner(key), 'all');
    deps.log('info', 'project removed', { project: name, by: describeCaller(caller) });
    return true;
  });

/** What is counted by the hour is stored the longest. */
const computeNameRetentionMs = (config: Config): number => Math.max(computeTombstoneMs(config), 91 * DAY_MS);

const getProject = async (deps: Deps, name: string): Promise<Project> => {
  assertCreatedByCalls(deps, name);
  const project = await deps.records.get(projectRef(name));
  if (project && project.removedAt === undefined) return project;
  throw new ParleyError('project_not_found', `There is no project ${name}.`);
};

const assertCreatedByCalls = ({ projects }: Deps, name: string): NonNullable<Deps['projects']> => {
  if (!projects) {
    throw new ParleyError(
      'project_configured',
      'The projects of this deployment are those of its configuration. Change "projects" in parley.config.ts, and deploy it.',
    );
  }
  if (!projects.isConfigured(name)) return projects;
  throw new ParleyError(
    'project_configured',
    `The project ${name} is one of the configuration. Change "projects" there.`,
  );
};

const projectRemovedError = ({ name, removedAt, expires }: Project): ParleyError =>
  new ParleyError(
    'project_removed',
    `A project ${name} was removed, and what it leaves is still stored. PUT /v1/projects/${name}?inherit=true creates one that has it; otherwise choose another name.`,
    { details: { removedAt: toIso(removedAt), freeAt: toIso(expires) } },
  );

/** The configuration may have had a project of this name. */
const leftoversError = (name: string): ParleyError =>
  new ParleyError(
    'project_removed',
    `What an earlier project ${name} left is still stored. PUT /v1/projects/${name}?inherit=true creates one that has it; otherwise choose another name.`,
  );

const notEmptyError = (name: string, remaining: string[]): ParleyError =>
  new ParleyError('project_not_empty', `The project ${name} still has ${remaining.join(', ')}.`, {
    details: { remaining },
  });

const tooManyProjectsError = (): ParleyError =>
  new ParleyError('too_large', `There are ${MAX_PROJECTS} projects, which is as many as calls may create.`, {
    details: { limit: MAX_PROJECTS },
  });
