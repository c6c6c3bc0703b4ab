import { ParleyError } from './errors.ts';
import { isDerivedId } from './ids.ts';

/** A turn may become a task under its own id, which its channel sees before the task exists. */
const TURN_ID_PREFIX = 'turn_';

/** Derived ids: with one of them a sender could impersonate another record. */
export const isReservedId = (id: string): boolean => id.startsWith(TURN_ID_PREFIX) || isDerivedId(id);

export const assertNotReserved = (what: string, id: string): void => {
  if (!isReservedId(id)) return;
  throw new ParleyError(
    'id_reserved',
    `${what} cannot have the id ${id}: Parley alone makes such ids, from others. Take a random UUID.`,
    { details: { id } },
  );
};
