import type { Deps } from '../shared/identity/deps.ts';
import type { Item } from '../shared/ports/records.ts';

const MAX_RECORDS = 100;

/** One record, or those under a key. */
export const findRecords = async (
  { records }: Pick<Deps, 'records'>,
  { pk, sk }: { pk: string; sk?: string | undefined },
): Promise<Item[]> => {
  if (sk === undefined) return await records.query({ pk, limit: MAX_RECORDS });
  const found = await records.get({ pk, sk });
  return found ? [found] : [];
};
