import type { Item } from '../shared/ports/records.ts';
import { StartError } from './cli-options.ts';

export const printRecords = (
  records: readonly Item[],
  key: readonly (string | undefined)[],
  where: string,
  isJson: boolean,
): void => {
  if (records.length === 0) throw new StartError(`${where} has no record ${key.join(' ').trim()}.`);
  const indent = isJson ? undefined : 2;
  for (const record of records) process.stdout.write(`${JSON.stringify(record, null, indent)}\n`);
};
