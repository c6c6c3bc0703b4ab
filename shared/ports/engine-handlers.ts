import type { Item, RecordChange } from './records.ts';

/** A failed call is repeated later; a successful call may be repeated too. */
export interface EngineHandlers {
  /** In order for each record. */
  onChanges(changes: RecordChange[]): Promise<void>;
  /** Called again until `due` has moved or is unset. */
  onTimer(record: Item): Promise<void>;
}
