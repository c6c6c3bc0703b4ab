import type { Dialect, ManifestAgent } from '../dialects/dialect.ts';
import { agentRef } from '../identity/agents/agent.ts';
import type { Deps } from '../identity/deps.ts';
import { mapConcurrent } from '../kernel/concurrency.ts';
import { isPermanent, ParleyError } from '../kernel/errors.ts';
import type { JsonObject } from '../kernel/json/json.ts';
import { Registration, registerAgent, ShownRegistration } from './register-agent.ts';

interface ImportResult {
  id: string;
  outcome: 'registered' | 'changed' | 'unchanged' | 'refused';
  /** Only for a new agent, and only now. */
  key?: string;
  /** Why it was refused. */
  code?: string;
  detail?: string;
}

/** So many are registered at once. */
const IMPORT_CONCURRENCY = 10;

/** Registers every agent that the file lists. One that is refused does not keep the others out. */
export const importManifest = async (
  deps: Deps,
  project: string,
  dialect: Dialect,
  file: JsonObject,
): Promise<ImportResult[]> => {
  if (!dialect.parseManifest) {
    throw new ParleyError('invalid_request', `The dialect ${dialect.name} has no manifest files.`);
  }
  return mapConcurrent(dialect.parseManifest(file), IMPORT_CONCURRENCY, (listed) =>
    importListed(deps, project, dialect, listed),
  );
};

const importListed = async (
  deps: Deps,
  project: string,
  dialect: Dialect,
  { id, capabilities, schemas, manifest, isMentioned }: ManifestAgent,
): Promise<ImportResult> => {
  const before = await loadRegistration(deps, project, id);
  if (before && isMentioned) return { id, outcome: 'unchanged' };
  const declared = {
    dialect: dialect.name,
    // A manifest knows nothing of this deployment's domains, and its capabilities may look like any: it serves no domain as a whole.
    ...(capabilities && { capabilities, domains: [] }),
    ...(schemas && { schemas }),
    ...(manifest && { manifest }),
  };
  return importAgent(deps, project, id, Registration.parse({ ...before, ...declared }));
};

/** Fields that a manifest does not have stay as they are: role, signing, inbox limit. */
const loadRegistration = async (
  deps: Deps,
  project: string,
  id: string,
): Promise<Partial<Registration> | undefined> => {
  const agent = await deps.records.get(agentRef(project, id));
  return agent && Object.fromEntries(ShownRegistration.keyof().options.map((field) => [field, agent[field]]));
};

const importAgent = async (deps: Deps, project: string, id: string, wanted: Registration): Promise<ImportResult> => {
  try {
    const { key } = await registerAgent(deps, project, id, wanted);
    return { id, outcome: key ? 'registered' : 'changed', key };
  } catch (error) {
    if (isPermanent(error)) {
      return { id, outcome: 'refused', code: error.code, detail: error.message };
    }
    throw error;
  }
};
