import { parseArgs } from 'node:util';

export interface Chosen<Section, Counts> {
  sections: readonly Section[];
  quick: boolean;
  counts: Counts;
}

export const chosenFrom = <Section extends string, Counts>(
  args: string[],
  all: readonly Section[],
  { quick, full }: { quick: Counts; full: Counts },
): Chosen<Section, Counts> | 'help' => {
  const { values } = parseArgs({
    args,
    options: {
      quick: { type: 'boolean', default: false },
      only: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return 'help';
  const sections = all.filter((section) => values.only === undefined || section === values.only);
  if (sections.length === 0) throw new Error(`--only must be one of ${all.join(', ')}, not "${values.only}".`);
  return { sections, quick: values.quick, counts: values.quick ? quick : full };
};
