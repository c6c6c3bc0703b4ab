import { listDomains } from '../../config/project-settings.ts';
import { type Agent, agentsKey, listServedDomains } from '../../identity/agents/agent.ts';
import { listProviderIds } from '../../identity/agents/capability-offers.ts';
import type { Deps } from '../../identity/deps.ts';
import { ParleyError } from '../../kernel/errors.ts';
import type { Broadcast } from '../../model/broadcast.ts';
import { getDomain } from '../../ports/queues.ts';

const AUDIENCE_PATTERN = /^(all|(?:capability|domain):[!-~]{1,128})$/;

export const assertKnownAudience = (deps: Deps, project: string, audience: string): void => {
  if (!AUDIENCE_PATTERN.test(audience)) {
    throw new ParleyError('invalid_request', 'Parley-Broadcast must be "all", "capability:<name>" or "domain:<name>".');
  }
  const [kind, name = ''] = parseAudience(audience);
  const known = listDomains(deps.config, project);
  if (kind !== 'domain' || known.includes(name)) return;
  throw new ParleyError('unknown_domain', `There is no domain ${name}. Known: ${known.join(', ')}.`, {
    details: { known },
  });
};

const parseAudience = (audience: string): string[] => {
  const colon = audience.indexOf(':');
  return colon < 0 ? [audience] : [audience.slice(0, colon), audience.slice(colon + 1)];
};

const PAGE_SIZE = 100;

interface RecipientPage {
  recipients: string[];
  /** Absent on the last page. */
  after?: string;
}

/** In the order of their ids, without the sender. */
export const listNextRecipients = async (deps: Deps, broadcast: Broadcast): Promise<RecipientPage> => {
  const { project, audience, from, cursor: after } = broadcast;
  const [kind, name = ''] = parseAudience(audience);
  const page =
    kind === 'capability' && getDomain(name) === undefined
      ? toPage(await listProviderIds(deps.records, project, name, PAGE_SIZE, after))
      : await listMatchingAgents(deps, project, (agent) => isInAudience(agent, kind ?? '', name), after);
  return { ...page, recipients: page.recipients.filter((id) => id !== from) };
};

const isInAudience = (agent: Agent, kind: string, name: string): boolean => {
  if (kind === 'capability') return agent.capabilities.includes(name);
  return kind === 'all' || listServedDomains({ agent }).includes(name);
};

const listMatchingAgents = async (
  deps: Deps,
  project: string,
  isWanted: (agent: Agent) => boolean,
  after: string | undefined,
): Promise<RecipientPage> => {
  const p = agentsKey(project);
  const agents = await deps.records.query<Agent>({ index: 'byList', pk: p, after, limit: PAGE_SIZE });
  return { ...toPage(agents.map(({ id }) => id)), recipients: agents.filter(isWanted).map(({ id }) => id) };
};

const toPage = (recipients: string[]): RecipientPage => ({
  recipients,
  after: recipients.length < PAGE_SIZE ? undefined : recipients.at(-1),
});
