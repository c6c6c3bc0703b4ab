import type { EngineHandlers } from '../../shared/ports/engine-handlers.ts';
import type { RecordChange } from '../../shared/ports/records.ts';
import type { Random } from './hostile-ports.ts';

type Follow = EngineHandlers['onChanges'];

const FAILS = 0.1;
const TWICE = 0.2;
const LONG_AFTER = 0.05;
/** An engine may put a change aside that fails for ever, so that nothing fails more often than this in a row. */
const MOST_FAILURES = 4;
const KEPT = 20;

/**
 * Changes as a stream may bring them: in order for each record and in no order between records, in parts, some at once, some
 * twice, some once more long after, and with failures before, between and after the parts.
 */
export const hostileFollower = (follow: Follow, random: Random): Follow => {
  const past: RecordChange[][] = [];
  let failures = 0;
  const fail = (when: string): void => {
    if (random() < FAILS) throw new Error(`hostile: it failed ${when}`);
  };
  const carryOut = async (part: RecordChange[]): Promise<void> => {
    fail('before a part');
    await follow(part);
    if (random() < TWICE) await follow(part);
    past.push(part);
    if (past.length > KEPT) past.shift();
    const old = past[Math.floor(random() * past.length)];
    if (old && random() < LONG_AFTER) await follow(old);
    fail('after a part');
  };
  const carryOutAll = async (changes: RecordChange[]): Promise<void> => {
    const byRecord = [...Map.groupBy(changes, keyOf).values()];
    const halves = [0, 1].map((half) => byRecord.filter((_, n) => n % 2 === half));
    const settled = await Promise.allSettled(
      halves.map(async (records) => {
        for (const part of parts(merged(records, random), random)) await carryOut(part);
      }),
    );
    const failed = settled.find((each) => each.status === 'rejected');
    if (failed) throw failed.reason;
  };
  return async (changes) => {
    for (;;) {
      try {
        await carryOutAll(changes);
        failures = 0;
        return;
      } catch (error) {
        failures += 1;
        if (failures < MOST_FAILURES) throw error;
      }
    }
  };
};

const keyOf = ({ before, after }: RecordChange): string =>
  JSON.stringify([(after ?? before)?.pk, (after ?? before)?.sk]);

/** Any order that keeps the order of each record. */
const merged = (records: RecordChange[][], random: Random): RecordChange[] => {
  const left = records.map((changes) => changes.slice());
  const order: RecordChange[] = [];
  while (left.length > 0) {
    const at = Math.floor(random() * left.length);
    order.push(...(left[at]?.splice(0, 1) ?? []));
    if (left[at]?.length === 0) left.splice(at, 1);
  }
  return order;
};

const parts = (changes: RecordChange[], random: Random): RecordChange[][] => {
  const cut: RecordChange[][] = [];
  for (let at = 0; at < changes.length; ) {
    const size = 1 + Math.floor(random() * 6);
    cut.push(changes.slice(at, at + size));
    at += size;
  }
  return cut;
};
