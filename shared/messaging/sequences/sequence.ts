import { findAgent } from '../../identity/auth/authenticate.ts';
import type { Deps } from '../../identity/deps.ts';
import type { JsonObject } from '../../kernel/json/json.ts';
import { retryOnConflict } from '../../kernel/retry-on-conflict.ts';
import type { Command } from '../../model/command.ts';
import { MAX_SEQUENCE } from '../../model/command.ts';
import type { Effect } from '../../model/effect.ts';
import { type Change, equals } from '../../ports/conditions.ts';
import type { Item, RecordChange, Ref } from '../../ports/records.ts';

/** What can be wrong with a number: some before it are missing, it was missed before, it came before, or counting began anew. */
const ANOMALIES = ['gap', 'late', 'repeat', 'reset'] as const;
type Anomaly = (typeof ANOMALIES)[number];

/** What one agent has sent to another, by its own count. */
export interface Sequence extends Item {
  sk: 'sequence';
  project: string;
  from: string;
  to: string;
  /** The highest number that came, and the message that came last. */
  last: number;
  lastId: string;
  /** Numbers below it that did not come, each from and to, the newest last. */
  missing: [first: number, last: number][];
  /** How often each was noticed, and the last of them. */
  gap: number;
  late: number;
  repeat: number;
  reset: number;
  lastAnomaly?: { anomaly: Anomaly; sequence: number; expected: number; messageId: string };
}

/** Behind the highest number, counting begins anew. */
export const computeNextSequence = (last: number): number => (last < MAX_SEQUENCE ? last + 1 : 1);

export const sequenceRef = (project: string, from: string, to: string): Ref<Sequence> => ({
  pk: `${project}#sequence#${from}#${to}`,
  sk: 'sequence',
});

/** Others may count at the same time, but only from the same sender to the same recipient. */
const COUNT_RETRIES = { attempts: 10 };

/**
 * Counts a message that was accepted. The next number costs one write without a read. The same message again counts only if its
 * number is the next one: the first time may have ended between the message and its count.
 */
export const recordSequence = async (
  deps: Deps,
  project: string,
  command: Command,
  isRepeated: boolean,
): Promise<void> => {
  const { sequenceInfo, from, messageId } = command;
  if (!sequenceInfo) return;
  const { sequence, to } = sequenceInfo;
  const ref = sequenceRef(project, from, to);
  const token = deps.newId();
  let change: Change = { if: equals('last', sequence - 1), set: { last: sequence, lastId: messageId } };
  await retryOnConflict(`the sequence from ${from} to ${to}`, COUNT_RETRIES, async () => {
    const written = await deps.records.update(ref, change, token);
    const existing = written.outcome === 'refused' ? written.existing : undefined;
    if (written.outcome === 'written' || existing?.lastId === messageId) return 'done';
    if (existing === undefined) {
      // Heartbeats are accepted whoever they name: counts that nobody asks for would stay for ever.
      if (!(await findAgent(deps, project, to))) return 'done';
      const fresh = { ...ref, sk: 'sequence' as const, project, from, to, ...EMPTY_COUNTS };
      const created = await deps.records.create<Sequence>(
        { ...fresh, ...computeCounts(EMPTY_COUNTS, sequence, messageId) },
        token,
      );
      return created.outcome === 'written' ? 'done' : undefined;
    }
    if (isRepeated && sequence !== existing.last + 1) return 'done';
    change = { if: equals('v', existing.v), set: computeCounts(existing, sequence, messageId) };
    return undefined;
  });
};

type SequenceCounts = Pick<Sequence, 'last' | 'lastId' | 'missing' | Anomaly | 'lastAnomaly'>;

const EMPTY_COUNTS: SequenceCounts = { last: 0, lastId: '', missing: [], gap: 0, late: 0, repeat: 0, reset: 0 };

/** So many ranges are remembered; gaps before them count, and can no longer be filled. */
const MAX_MISSING_RANGES = 50;

const computeCounts = (seen: SequenceCounts, sequence: number, messageId: string): Partial<SequenceCounts> => {
  const expected = seen.last + 1;
  const noticed = (anomaly: Anomaly): Partial<SequenceCounts> => ({
    lastId: messageId,
    [anomaly]: seen[anomaly] + 1,
    lastAnomaly: { anomaly, sequence, expected, messageId },
  });
  if (sequence === expected) return { last: sequence, lastId: messageId };
  if (sequence > expected) {
    const missing = [...seen.missing, [expected, sequence - 1] as [number, number]].slice(-MAX_MISSING_RANGES);
    return { ...noticed('gap'), last: sequence, missing };
  }
  if (seen.missing.some(([first, last]) => first <= sequence && sequence <= last)) {
    return {
      ...noticed('late'),
      missing: seen.missing.flatMap((range) => removeFromRange(range, sequence)).slice(-MAX_MISSING_RANGES),
    };
  }
  return sequence === 1 ? { ...noticed('reset'), last: 1, missing: [] } : noticed('repeat');
};

const removeFromRange = ([first, last]: [number, number], number: number): [number, number][] => {
  if (number < first || number > last) return [[first, last]];
  const parts: [number, number][] = [
    [first, number - 1],
    [number + 1, last],
  ];
  return parts.filter(([from, to]) => from <= to);
};

/** What follows from one count: whatever was out of order is announced. */
export const computeSequenceEffects = ({ before, after }: RecordChange<Sequence>): Effect[] => {
  if (!after) return [];
  return ANOMALIES.filter((anomaly) => after[anomaly] > (before?.[anomaly] ?? 0)).map((anomaly) => ({
    kind: 'publish',
    event: {
      id: `sequence/${after.from}/${after.to}:${after.v}:${anomaly}`,
      project: after.project,
      type: `sequence.${anomaly}`,
      at: after.at,
      data: { from: after.from, to: after.to, ...after.lastAnomaly, missing: after.missing } satisfies JsonObject,
    },
  }));
};
