import type { ChaosOptions } from './options.ts';
import type { Outcome } from './run.ts';

/** Of each rule. */
const SHOWN = 4;

export const formatOutcome = (engine: string, seed: number, { violations, counts }: Outcome): string => {
  const tried = Object.entries(counts)
    .map(([name, count]) => `${count} ${name}`)
    .join(', ');
  const verdict =
    violations.length === 0 ? 'nothing was lost, doubled, stuck or handed to two' : `${violations.length} broken`;
  const byRule = [...Map.groupBy(violations, ({ rule }) => rule).values()];
  const lines = byRule.flatMap((all) => all.slice(0, SHOWN).map(({ rule, text }) => `  ${rule}: ${text}`));
  return [`${engine}, seed ${seed}: ${verdict} (${tried})`, ...lines].join('\n');
};

export const formatReplay = (engine: string, { seed, seconds, faults }: Omit<ChaosOptions, 'engines'>): string =>
  `Again: npm run chaos -- --seed ${seed} --engine ${engine} --seconds ${seconds} --faults ${faults.join()}`;
