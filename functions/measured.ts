import type { Measure, Measured } from '../shared/measure.ts';

const measured: [name: Measured, value: number][] = [];

/** Kept until the call is answered, so that all that it measured is one line of the log. */
export const measure: Measure = (name, value) => {
  measured.push([name, value]);
};

/** Most calls measure nothing, and do without what tells it. */
export const tellMeasured = async (): Promise<void> => {
  if (measured.length === 0) return;
  const { tell } = await import('./metrics.ts');
  tell(measured.splice(0));
};
