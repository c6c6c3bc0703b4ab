import type { Deps } from '../identity/deps.ts';
import type { Item } from '../ports/records.ts';
import { getRecordKind } from './record-kinds.ts';

/** What time alone does to a record whose due time has come. */
export const onTimer = (deps: Deps, record: Item): Promise<void> => getRecordKind(record).onTimer(deps, record);
