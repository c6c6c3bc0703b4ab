import type fc from 'fast-check';
import type { Records } from '../../shared/ports/records.ts';

/** Every call of a record waits until the scheduler lets it happen, one at a time: the seed says in which order. */
export const inOrderOf = (schedule: fc.Scheduler, records: Records): Records => {
  const later = <T>(label: string, act: () => Promise<T>): Promise<T> => {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    schedule.scheduleSequence([{ label, builder: () => act().then(resolve, reject) }]);
    return promise;
  };
  return {
    get: (ref) => later('get', () => records.get(ref)),
    getMany: (refs) => later('getMany', () => records.getMany(refs)),
    query: (query) => later('query', () => records.query(query)),
    list: (query, options) => later('list', () => records.list(query, options)),
    count: (query) => later('count', () => records.count(query)),
    create: (item, token) => later('create', () => records.create(item, token)),
    update: (ref, ...change) => later('update', () => records.update(ref, ...change)),
    delete: (key) => later('remove', () => records.delete(key)),
    transact: (writes, token) => later('transact', () => records.transact(writes, token)),
    watch: (pk) => records.watch(pk),
  };
};
