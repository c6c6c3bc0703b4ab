import type { UnusedGrant } from '../../local/cloudformation-runner/index.ts';
import type { NamedQueue } from '../../shared/ports/queue-names.ts';

/** The functions whose every grant `grants.test.ts` needs: what they are for can be brought about there at will. */
export const PROVEN_ALONE = ['dispatch', 'replay', 'sweep', 'due', 'dead-letters'] as const;

/** They make calls of other functions inside, each of which needs its grants there; `grants.ts` holds them against those. */
export const COMPOSED: Record<string, readonly string[]> = {
  api: ['ingest', 'claims', 'tasks'],
};

/** What is needed by chance only, so that no test can be sure to need it. */
export const BY_CHANCE: Record<string, string> = {
  'tasks sqs:SendMessage lanes of a domain':
    'two workers of one agent have taken a task each at the same moment, and one of them gives its own back',
  'turns s3:DeleteObject content':
    'two calls stop a turn at the same moment, and the card of one of them is there already',
  'tasks s3:DeleteObject content':
    'two calls bring the same large request at the same moment, which `grants.test.ts` brings about',
  'due dynamodb:Query index/byCreation': 'a bulk operation has more tasks than one page',
  'due sqs:ChangeMessageVisibility lanes of a domain':
    'an agent that Parley calls has a task, and the next one that it could claim is of low priority',
  'a2a s3:DeleteObject content':
    'two calls bring the same large request at the same moment, as with `tasks` in `grants.test.ts`',
  'claims s3:DeleteObject content':
    'two calls bring the same large result at the same moment, which `grants.test.ts` brings about',
};

const BUS = /:event-bus\//;
const LANES = { relay: /_relay-(critical|high|normal|low)\.fifo$/, domain: /-(critical|high|normal|low)\.fifo$/ };

/**
 * What no call has needed, as `function action resource`. Of the lanes of domains, which are all alike, one is enough, and so it is
 * of those of relays, and of the buses of projects; and a bucket may be listed by whoever reads from it, for the day that an object is missing.
 */
export const needlessGrants = (unused: UnusedGrant[], lanes: NamedQueue[]): string[] => {
  const projects = new Set(lanes.map(({ project }) => project)).size;
  const named = unused
    .filter(({ action }) => action !== 's3:ListBucket')
    .map(({ functionName, action, resource }) => {
      const kind = LANES.relay.test(resource) ? 'relay' : LANES.domain.test(resource) ? 'domain' : undefined;
      const what = BUS.test(resource) ? 'a bus' : kind === undefined ? plainly(resource) : `lanes of a ${kind}`;
      const alike = BUS.test(resource) ? projects : lanes.filter((lane) => lane.kind === kind).length;
      return { grant: `${functionName.replace(/^parley-[^-]+-/, '')} ${action} ${what}`, alike };
    });
  const all = Map.groupBy(named, ({ grant }) => grant);
  return [...all].flatMap(([grant, [first, ...more]]) => {
    const isOfAll = first === undefined || first.alike === 0 || first.alike === more.length + 1;
    return isOfAll ? [grant] : [];
  });
};

/** Without what deployments differ in: `index/held`, `content`, `parley-dev-delay`. */
const plainly = (arn: string): string => {
  const name = arn.split(':').slice(5).join(':');
  const index = /\/(index\/\w+)$/.exec(name)?.[1];
  if (index !== undefined) return index;
  return /^(table)\/|^parley-(content|failures)/.exec(name)?.slice(1).find(Boolean) ?? name;
};
