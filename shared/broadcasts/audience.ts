import { type Agent, agentsPlace, domainOf, servedDomains } from '../agents/agent.ts';
import { offeredBy } from '../agents/capabilities.ts';
import { domainsOf } from '../config.ts';
import type { Deps } from '../deps.ts';
import { ParleyError } from '../errors.ts';
import type { Broadcast } from './broadcast.ts';

const AUDIENCE = /^(all|(?:capability|domain):[!-~]{1,128})$/;

export const refuseUnknownAudience = (deps: Deps, project: string, audience: string): void => {
  if (!AUDIENCE.test(audience)) {
    throw new ParleyError('invalid_request', 'Parley-Broadcast must be "all", "capability:<name>" or "domain:<name>".');
  }
  const [kind, name = ''] = parts(audience);
  const known = domainsOf(deps.config, project);
  if (kind !== 'domain' || known.includes(name)) return;
  throw new ParleyError('unknown_domain', `There is no domain ${name}. Known: ${known.join(', ')}.`, {
    facts: { known },
  });
};

const parts = (audience: string): string[] => {
  const colon = audience.indexOf(':');
  return colon < 0 ? [audience] : [audience.slice(0, colon), audience.slice(colon + 1)];
};

/** So many agents are looked at in one go. */
const PAGE = 100;

export interface Page {
  recipients: string[];
  /** Where the next page begins; absent where there is none. */
  after?: string;
}

/** Some of those that it is for, in the order of their ids. Its sender is not among them. */
export const nextRecipients = async (deps: Deps, broadcast: Broadcast): Promise<Page> => {
  const { project, audience, from, reachedUpTo: after } = broadcast;
  const [kind, name = ''] = parts(audience);
  const page =
    kind === 'capability' && domainOf(name) === undefined
      ? paged(await offeredBy(deps.records, project, name, PAGE, after))
      : await listed(deps, project, (agent) => isMeant(agent, kind ?? '', name), after);
  return { ...page, recipients: page.recipients.filter((id) => id !== from) };
};

const isMeant = (agent: Agent, kind: string, name: string): boolean => {
  if (kind === 'capability') return agent.capabilities.includes(name);
  return kind === 'all' || servedDomains({ agent }).includes(name);
};

const listed = async (
  deps: Deps,
  project: string,
  isWanted: (agent: Agent) => boolean,
  after: string | undefined,
): Promise<Page> => {
  const p = agentsPlace(project);
  const agents = await deps.records.query<Agent>({ index: 'placed', p, after, limit: PAGE });
  return { ...paged(agents.map(({ id }) => id)), recipients: agents.filter(isWanted).map(({ id }) => id) };
};

const paged = (recipients: string[]): Page => ({
  recipients,
  after: recipients.length < PAGE ? undefined : recipients.at(-1),
});
