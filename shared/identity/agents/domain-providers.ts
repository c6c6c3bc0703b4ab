import { ParleyError } from '../../kernel/errors.ts';
import { retryOnConflict } from '../../kernel/retry-on-conflict.ts';
import { type Change, equals } from '../../ports/conditions.ts';
import { getDomain } from '../../ports/queues.ts';
import type { Item, Ref, TransactionWrite } from '../../ports/records.ts';
import type { Deps } from '../deps.ts';
import {
  type Agent,
  agentsKey,
  type DeclaredCapabilities,
  listDeclaredDomains,
  listExactCapabilities,
  listWholeDomains,
} from './agent.ts';

/** One record decides the destination of a domain's tasks, however many agents there are. */
export interface DomainProviders extends Item {
  sk: 'domain-providers';
  project: string;
  domain: string;
  wholeDomain: number;
  /** Without the agents that serve the whole domain. */
  byCapability: Record<string, number>;
  /** Those that speak in a profile, by its name. Absent in records from before there were any. */
  byProfile?: Record<string, number>;
  /** Recent declarations: tasks that waited for them move to the new queue. */
  declaredAt: Record<string, number>;
  /** Agents registered before this record existed are not counted yet. */
  isUncounted?: true;
}

export const domainProvidersRef = (project: string, domain: string): Ref<DomainProviders> => ({
  pk: `${project}#domain#${domain}`,
  sk: 'domain-providers',
});

export const isCapabilityDeclared = ({ byCapability }: DomainProviders, capability: string): boolean =>
  (getOwnCount(byCapability, capability) ?? 0) > 0;

export const countProviders = ({ wholeDomain, byCapability }: DomainProviders, capability: string): number =>
  wholeDomain + (getOwnCount(byCapability, capability) ?? 0);

const getOwnCount = (counts: Record<string, number>, name: string): number | undefined =>
  Object.hasOwn(counts, name) ? counts[name] : undefined;

/** At most 5 s old. */
export const getDomainProviders = async (deps: Deps, project: string, domain: string): Promise<DomainProviders> =>
  (await deps.directory.getDomainProviders(project, domain)) ?? loadDomainProviders(deps, project, domain);

export const loadDomainProviders = async (deps: Deps, project: string, domain: string): Promise<DomainProviders> => {
  const ref = domainProvidersRef(project, domain);
  const found = await deps.records.get(ref);
  if (found) return found;
  const nobody = {
    pk: ref.pk,
    sk: 'domain-providers' as const,
    project,
    domain,
    wholeDomain: 0,
    byCapability: {},
    byProfile: {},
    declaredAt: {},
  };
  const due = deps.clock.now();
  const created = await deps.records.create<DomainProviders>({ ...nobody, isUncounted: true, due }, deps.newId());
  const served = created.outcome === 'written' ? created.after : created.existing;
  if (served) return served;
  throw new ParleyError('conflict', `Who serves the domain ${domain} is being changed. Try again.`);
};

/** Under contention one winner is enough. */
const COUNT_RETRIES = { attempts: 5 };

const loadCountedProviders = (deps: Deps, project: string, domain: string): Promise<DomainProviders> =>
  retryOnConflict(`the providers of ${domain}`, COUNT_RETRIES, async () => {
    const providers = await loadDomainProviders(deps, project, domain);
    return providers.isUncounted || !providers.byProfile ? recountProviders(deps, providers) : providers;
  });

/** Undefined on a conflict. Waiting tasks are then moved to the queue. */
export const recountProviders = async (
  deps: Deps,
  { project, domain, v }: DomainProviders,
): Promise<DomainProviders | undefined> => {
  const { wholeDomain, byCapability, byProfile } = await countAgents(deps, project, domain);
  const now = deps.clock.now();
  const fresh = Object.fromEntries(Object.keys(byCapability).map((capability) => [capability, now]));
  const change = {
    if: equals('v', v),
    set: { wholeDomain, byCapability, byProfile, declaredAt: fresh, due: now + CACHE_SETTLE_MS },
    unset: ['isUncounted'],
  };
  const written = await deps.records.update(domainProvidersRef(project, domain), change, deps.newId());
  deps.directory.invalidateDomain(project, domain);
  return written.outcome === 'written' ? written.after : undefined;
};

const AGENT_PAGE = 100;

const countAgents = async (
  deps: Deps,
  project: string,
  domain: string,
): Promise<Pick<DomainProviders, 'wholeDomain' | 'byCapability' | 'byProfile'>> => {
  const exact = new Map<string, number>();
  const profiles = new Map<string, number>();
  let whole = 0;
  for (let after: string | undefined; ; ) {
    const agents = await deps.records.query<Agent>({
      index: 'byList',
      pk: agentsKey(project),
      after,
      limit: AGENT_PAGE,
    });
    for (const agent of agents) {
      if (listWholeDomains(agent).includes(domain)) whole += 1;
      for (const capability of listExactCapabilities(agent)) {
        if (getDomain(capability) === domain) exact.set(capability, (exact.get(capability) ?? 0) + 1);
      }
      const profile = getProfileIn(agent, domain);
      if (profile !== undefined) profiles.set(profile, (profiles.get(profile) ?? 0) + 1);
    }
    if (agents.length < AGENT_PAGE) break;
    after = agents.at(-1)?.id;
  }
  return { wholeDomain: whole, byCapability: Object.fromEntries(exact), byProfile: Object.fromEntries(profiles) };
};

const getProfileIn = (declared: DeclaredCapabilities, domain: string): string | undefined =>
  listDeclaredDomains(declared).includes(domain) ? declared.profile : undefined;

/** A DynamoDB item holds 400 KB; both maps have names of up to 128 characters. */
const MAX_CAPABILITIES_PER_DOMAIN = 500;
/** A DynamoDB transaction takes 100 writes, some for the agent itself. */
const MAX_DOMAINS_PER_CHANGE = 64;
/** 5 s cache plus 1 s: then every process sends to the new queue. */
const CACHE_SETTLE_MS = 6000;

/** Written in one transaction with the registration. */
export const buildProviderWrites = async (
  deps: Deps,
  project: string,
  before: DeclaredCapabilities,
  after: DeclaredCapabilities,
): Promise<TransactionWrite[]> => {
  const changes = diffDomains(before, after);
  if (changes.length > MAX_DOMAINS_PER_CHANGE) {
    throw new ParleyError(
      'too_large',
      `At most ${MAX_DOMAINS_PER_CHANGE} domains can be declared or given up at once.`,
      {
        details: { limit: MAX_DOMAINS_PER_CHANGE },
      },
    );
  }
  return Promise.all(
    changes.map(async ({ domain, whole, added, removed, profiles }): Promise<TransactionWrite> => {
      const served = await loadCountedProviders(deps, project, domain);
      const names = Object.keys(served.byCapability);
      if (added.length > 0 && new Set([...names, ...added]).size > MAX_CAPABILITIES_PER_DOMAIN)
        throw tooManyCapabilitiesError(domain);
      const now = deps.clock.now();
      const fresh = added.map((capability) => [`declaredAt.${capability}`, now] as const);
      const counts = [
        ...added.map((capability) => [`byCapability.${capability}`, 1] as const),
        ...removed.map((capability) => [`byCapability.${capability}`, -1] as const),
        ...profiles.map(({ profile, count }) => [`byProfile.${profile}`, count] as const),
      ];
      const change: Change = {
        set: { ...Object.fromEntries(fresh), ...(fresh.length > 0 && { due: now + CACHE_SETTLE_MS }) },
        add: { wholeDomain: whole, ...Object.fromEntries(counts) },
      };
      return { kind: 'update', key: domainProvidersRef(project, domain), change };
    }),
  );
};

const tooManyCapabilitiesError = (domain: string): ParleyError =>
  new ParleyError(
    'too_large',
    `Agents can declare ${MAX_CAPABILITIES_PER_DOMAIN} capabilities of the domain ${domain}. Declare "${domain}.*" instead.`,
    { details: { limit: MAX_CAPABILITIES_PER_DOMAIN } },
  );

interface DomainChange {
  domain: string;
  whole: number;
  added: string[];
  removed: string[];
  profiles: ProfileCount[];
}

interface ProfileCount {
  profile: string;
  count: number;
}

const diffDomains = (before: DeclaredCapabilities, after: DeclaredCapabilities): DomainChange[] => {
  const [hadAll, hasAll] = [listWholeDomains(before), listWholeDomains(after)];
  const [had, has] = [listExactCapabilities(before), listExactCapabilities(after)];
  const named = [...had, ...has].flatMap((capability) => getDomain(capability) ?? []);
  return [...new Set([...hadAll, ...hasAll, ...named])]
    .map((domain) => ({
      domain,
      whole: Number(hasAll.includes(domain)) - Number(hadAll.includes(domain)),
      added: has.filter((capability) => getDomain(capability) === domain && !had.includes(capability)),
      removed: had.filter((capability) => getDomain(capability) === domain && !has.includes(capability)),
      profiles: diffProfiles(getProfileIn(before, domain), getProfileIn(after, domain)),
    }))
    .filter(
      ({ whole, added, removed, profiles }) =>
        whole !== 0 || added.length > 0 || removed.length > 0 || profiles.length > 0,
    );
};

const diffProfiles = (had: string | undefined, has: string | undefined): ProfileCount[] => {
  const changes: [profile: string | undefined, count: number][] =
    had === has
      ? []
      : [
          [had, -1],
          [has, 1],
        ];
  return changes.flatMap(([profile, count]) => (profile === undefined ? [] : [{ profile, count }]));
};

/** Runs after the registration is written. */
export const cleanUpProviders = async (
  deps: Deps,
  project: string,
  before: DeclaredCapabilities,
  after: DeclaredCapabilities,
): Promise<void> => {
  const changes = diffDomains(before, after);
  for (const { domain } of changes) deps.directory.invalidateDomain(project, domain);
  const gone = changes.flatMap(({ domain, removed }) => removed.map((capability) => ({ domain, capability })));
  await Promise.all(
    gone.map(({ domain, capability }) =>
      deps.records.update(
        domainProvidersRef(project, domain),
        {
          if: equals(`byCapability.${capability}`, 0),
          unset: [`byCapability.${capability}`, `declaredAt.${capability}`],
        },
        deps.newId(),
      ),
    ),
  );
};
