import { isDeepStrictEqual } from 'node:util';
import type { Config } from '../shared/config/config.ts';

/** What a running process cannot take up, by the path of its key. */
export const listRestartChanges = (old: Config, changed: Config): string[] => {
  const [before, after] = [old, changed].map(pickFixed);
  const keys = new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})]);
  return [...keys].filter((key) => !isDeepStrictEqual(before?.[key], after?.[key]));
};

/** The relay, the log of events and the export of spans read them once. */
const pickFixed = ({ projects, dialects, events, tracing }: Config): Record<string, unknown> => ({
  ...Object.fromEntries(
    Object.entries(projects).flatMap(([name, { relay, domains }]) => [
      [`projects.${name}`, 'is there'],
      [`projects.${name}.relay`, relay],
      ...Object.entries(domains)
        .filter(([, { transport }]) => transport !== 'http')
        .map(([domain, { transport }]) => [`projects.${name}.domains.${domain}.transport`, transport]),
    ]),
  ),
  dialects,
  tracing,
  'events.retentionMs': events.retentionMs,
});
