import { createHmac, randomBytes } from 'node:crypto';
import type { Item, Records, Ref } from '../ports/records.ts';
import type { Deps } from './deps.ts';

/** Made once, and never shown: what is derived with it, nobody outside can compute. */
export interface ProjectSecret extends Item {
  sk: 'project-secret';
  secret: string;
}

const projectSecretRef = (project: string): Ref<ProjectSecret> => ({ pk: `${project}#secret`, sk: 'project-secret' });

/** It never changes. */
const known = new WeakMap<Records, Map<string, Promise<string>>>();

const loadSecret = ({ records, newId }: Pick<Deps, 'records' | 'newId'>, project: string): Promise<string> => {
  const secrets = known.get(records) ?? new Map<string, Promise<string>>();
  known.set(records, secrets);
  const found = secrets.get(project) ?? loadOrCreateSecret(records, project, newId());
  secrets.set(project, found);
  found.catch(() => secrets.delete(project));
  return found;
};

const loadOrCreateSecret = async (records: Records, project: string, token: string): Promise<string> => {
  const ref = projectSecretRef(project);
  const found = await records.get(ref);
  if (found) return found.secret;
  const secret = randomBytes(32).toString('base64url');
  const created = await records.create<ProjectSecret>({ ...ref, sk: 'project-secret', secret }, token);
  const kept = created.outcome === 'written' ? created.after : created.existing;
  return kept?.secret ?? secret;
};

/** Of the parts, in a form that only the project can compute. `purpose` keeps uses apart. */
export const computeProjectHmac = async (
  deps: Pick<Deps, 'records' | 'newId'>,
  project: string,
  purpose: string,
  parts: readonly string[],
): Promise<Buffer> =>
  createHmac('sha256', await loadSecret(deps, project))
    .update(JSON.stringify([purpose, ...parts]))
    .digest();
