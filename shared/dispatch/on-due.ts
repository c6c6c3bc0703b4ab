import type { Deps } from '../deps.ts';
import type { Item } from '../ports/records.ts';
import { kindOf } from './kinds.ts';

/** What time alone does to a record whose due time has come. */
export const onDue = (deps: Deps, record: Item): Promise<void> => kindOf(record).due(deps, record);
