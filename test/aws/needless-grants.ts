import type { UnusedGrant } from '../../local/template/start-template.ts';

const LANE = /^arn:aws:sqs:\S+-(critical|high|normal|low)\.fifo$/;

/**
 * What no call has needed. Of the lanes, which are all alike, one is enough; and a bucket may be listed by whoever reads from
 * it, for the day that an object is missing.
 */
export const needlessGrants = (unused: UnusedGrant[], lanes: number): string[] => {
  const named = unused
    .filter(({ action }) => action !== 's3:ListBucket')
    .map(({ functionName, action, resource }) => `${functionName} ${action} ${resource.replace(LANE, 'lanes')}`);
  return [...new Set(named)].filter(
    (grant) => !grant.endsWith(' lanes') || named.filter((other) => other === grant).length === lanes,
  );
};
