import type { UnusedGrant } from '../../local/template/start-template.ts';
import type { LaneName } from '../../shared/lane-names.ts';

const FAMILIES = { relay: /_relay-(critical|high|normal|low)\.fifo$/, domain: /-(critical|high|normal|low)\.fifo$/ };

/**
 * What no call has needed. Of the lanes of domains, which are all alike, one is enough, and so it is of those of relays; and a
 * bucket may be listed by whoever reads from it, for the day that an object is missing.
 */
export const needlessGrants = (unused: UnusedGrant[], lanes: LaneName[]): string[] => {
  const named = unused
    .filter(({ action }) => action !== 's3:ListBucket')
    .map(({ functionName, action, resource }) => {
      const kind = FAMILIES.relay.test(resource) ? 'relay' : FAMILIES.domain.test(resource) ? 'domain' : undefined;
      return { grant: `${functionName} ${action} ${kind === undefined ? resource : `lanes of a ${kind}`}`, kind };
    });
  const all = Map.groupBy(named, ({ grant }) => grant);
  return [...all].flatMap(([grant, [first, ...more]]) => {
    const isOfAll =
      first?.kind === undefined || lanes.filter(({ kind }) => kind === first.kind).length === more.length + 1;
    return isOfAll ? [grant] : [];
  });
};
