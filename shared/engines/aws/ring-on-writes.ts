import type { Item, Records, WriteResult } from '../../ports/records.ts';

/** Tells the waiter that something was written under these keys. */
export type Ring = (keys: string[]) => Promise<void>;

/** What else is waited for is read again and again. */
export const isRung = (pk: string): boolean => /#(inbox|queue|queue-activity)#/.test(pk);

const getListKey = ({ byList }: Pick<Item, 'byList'>): string | undefined =>
  byList?.sk !== undefined && isRung(byList.pk) ? `${byList.pk} ${byList.sk}` : undefined;

/** Rings for what comes into an inbox. */
export const ringOnWrites = (records: Records, ring: Ring): Records => {
  const told = async <T extends Item>(written: Promise<WriteResult<T>>): Promise<WriteResult<T>> => {
    const result = await written;
    if (result.outcome === 'refused') return result;
    const { before, after } = result;
    const key = getListKey(after);
    if (key !== undefined && key !== (before && getListKey(before))) await ring([after.byList?.pk ?? '']);
    return result;
  };
  return {
    ...records,
    create: (...args) => told(records.create(...args)),
    update: (...args) => told(records.update(...args)),
    transact: async (writes, token) => {
      const result = await records.transact(writes, token);
      const created = writes.flatMap((write) => (write.kind === 'create' && getListKey(write.item) ? write.item : []));
      if (result.outcome === 'written' && created.length > 0) await ring(created.map(({ byList }) => byList?.pk ?? ''));
      return result;
    },
  };
};
