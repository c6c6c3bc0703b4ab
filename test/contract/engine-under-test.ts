import { randomUUID } from 'node:crypto';
import type { TestContext } from 'node:test';
import type { EngineHandlers } from '../../shared/ports/engine-handlers.ts';
import type { Ports } from '../../shared/ports/ports.ts';
import type { Item, NewItem, Records, WriteResult } from '../../shared/ports/records.ts';

/** The sort key whose changes the engine must be told to follow, and one whose changes it must not. */
export const WATCHED = 'task';
export const UNWATCHED = 'note';

/** What a contract needs of an engine. Every test uses names of its own, so that all may share one set of tables. */
export interface EngineUnderTest {
  ports: Ports;
  now(): number;
  /** Lets time pass: a clock is moved, or it is really waited. */
  pass(ms: number): Promise<void>;
  follow(followers: Partial<EngineHandlers>): void;
  /** Ends the engine with no chance to finish anything, and opens it again; then `ports` are new, and nobody follows. */
  crash(): Promise<void>;
}

export type Open = (t: TestContext) => Promise<EngineUnderTest>;

/** A record as the contracts use them: whatever a test puts in. */
export interface Sample extends Item {
  [field: string]: unknown;
}

export const unique = (name: string): string => `${name}-${randomUUID()}`;
export const token = (): string => randomUUID();

/** A reference that is a record without fields as well. */
type SampleRef = { pk: string; sk: string; readonly type?: Sample };

export const sampleRef = (pk = unique('p#thing'), sk = WATCHED): SampleRef => ({ pk, sk });

export const created = async (records: Records, item: NewItem<Sample>, by = token()): Promise<Sample> =>
  afterOf(await records.create<Sample>(item, by));

/** The record that a write left; a write that did not happen fails the test. */
export const afterOf = (written: WriteResult<Sample>): Sample => {
  if (written.outcome !== 'written') throw new Error(`expected a write, but it was ${JSON.stringify(written)}`);
  return written.after;
};
