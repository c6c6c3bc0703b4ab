import type { Config, ProjectConfig } from '../config/config.ts';
import type { Item, Records, Ref } from '../ports/records.ts';
import { DEFAULT_PROJECT } from './auth/keys.ts';

/** A project that a call created, beside those of the configuration. All are in the partition of the default project. */
export interface Project extends Item {
  sk: `project#${string}`;
  name: string;
  domains: Readonly<Record<string, { description: string }>>;
  createdAt: number;
  /** Then nobody has a key, and the name stays taken while anything of the project is stored. */
  removedAt?: number;
}

/** They are read at the start and after each change. */
export const MAX_PROJECTS = 1000;

const PROJECT_PREFIX = 'project#';

export const projectRef = (name: string): Ref<Project> => ({
  pk: `${DEFAULT_PROJECT}#projects`,
  sk: `${PROJECT_PREFIX}${name}`,
});

/** A name stays taken for months after its project was removed. */
const MAX_STORED = 10 * MAX_PROJECTS;

/** Removed ones too. */
export const listProjectRecords = (records: Records): Promise<Project[]> =>
  records.query<Project>({ pk: projectRef('').pk, prefix: PROJECT_PREFIX, limit: MAX_STORED });

/** A project of the configuration stays as it is there. */
export const addProjects = (configured: Config, created: readonly Project[]): Config => {
  const added = created.flatMap(({ name, domains, removedAt }) =>
    removedAt === undefined && !Object.hasOwn(configured.projects, name) ? [[name, toConfig(domains)]] : [],
  );
  if (added.length === 0) return configured;
  return { ...configured, projects: { ...configured.projects, ...Object.fromEntries(added) } };
};

const toConfig = (domains: Project['domains']): ProjectConfig => ({
  relay: false,
  domains: Object.fromEntries(
    Object.entries(domains).map(([name, { description }]) => [name, { description, transport: 'http' }]),
  ),
});
