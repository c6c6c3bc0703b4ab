import { ParleyError } from './errors.ts';
import { isDerivedId } from './ids.ts';

/** A turn may become a task under its own id, which everybody on its channel is told before that task is there. */
const TURN_ID_PREFIX = 'turn_';

/** Parley makes these of other ids, and whoever gave one of them to something else would be taken for what it stands for. */
export const isReservedId = (id: string): boolean => id.startsWith(TURN_ID_PREFIX) || isDerivedId(id);

export const assertNotReserved = (what: string, id: string): void => {
  if (!isReservedId(id)) return;
  throw new ParleyError(
    'id_reserved',
    `${what} cannot have the id ${id}: Parley alone makes such ids, from others. Take a random UUID.`,
    { details: { id } },
  );
};
