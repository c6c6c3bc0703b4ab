import type { Chosen } from './chosen.ts';
import { lookAtMachine } from './machine.ts';
import { printMachine } from './report.ts';
import { writeResults } from './write-results.ts';

type Measured<Counts> = (counts: Counts) => Promise<unknown>;

export const measured =
  <Counts, Result>(measure: (counts: Counts) => Result | Promise<Result>, print: (result: Result) => void) =>
  async (counts: Counts): Promise<Result> => {
    const result = await measure(counts);
    print(result);
    return result;
  };

interface Bench<Section extends string, Counts> {
  help: string;
  optionsFrom: (args: string[]) => Chosen<Section, Counts> | 'help';
  sections: Record<Section, Measured<Counts>>;
  suffix?: string;
}

export const runSections = async <Section extends string, Counts>({
  help,
  optionsFrom,
  sections,
  suffix = '',
}: Bench<Section, Counts>): Promise<never> => {
  try {
    const options = optionsFrom(process.argv.slice(2));
    if (options === 'help') process.stdout.write(help);
    else await run(options, sections, suffix);
    process.exit(0);
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exit(1);
  }
};

const run = async <Section extends string, Counts>(
  { sections: chosen, counts, quick }: Chosen<Section, Counts>,
  sections: Record<Section, Measured<Counts>>,
  suffix: string,
): Promise<void> => {
  const machine = lookAtMachine();
  printMachine(machine);
  const results: Record<string, unknown> = {};
  for (const section of chosen) results[section] = await sections[section](counts);
  console.log(`\nwritten to ${writeResults({ quick, machine, ...results }, quick ? `${suffix}-quick` : suffix)}`);
};
