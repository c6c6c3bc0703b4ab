import type { Item, RecordChange } from './records.ts';

/**
 * What an engine calls by itself. A call that fails is made again later; one that succeeded may be made again as well.
 */
export interface EngineHandlers {
  /** Some changes, in order for each record. */
  onChanges(changes: RecordChange[]): Promise<void>;
  /** A record whose `due` has been reached. It is called again until `due` has moved or gone. */
  onTimer(record: Item): Promise<void>;
}
