import { findAgent } from '../../identity/auth/authenticate.ts';
import type { Deps } from '../../identity/deps.ts';
import type { JsonObject } from '../../kernel/json/json.ts';
import { retryOnConflict } from '../../kernel/retry-on-conflict.ts';
import type { Command } from '../../model/command.ts';
import { MAX_SEQUENCE } from '../../model/command.ts';
import type { Effect } from '../../model/effect.ts';
import { type Change, equals } from '../../ports/conditions.ts';
import type { Item, RecordChange, Ref } from '../../ports/records.ts';

/** Missing numbers, a late one, a repetition, or a restart of the sequence. */
const ANOMALIES = ['gap', 'late', 'repeat', 'reset'] as const;
type Anomaly = (typeof ANOMALIES)[number];

/** Of messages from one agent to another. */
export interface Sequence extends Item {
  sk: 'sequence';
  project: string;
  from: string;
  to: string;
  /** The highest number, and the id of the last message. */
  last: number;
  lastId: string;
  /** Ranges of missing numbers, newest last. */
  missing: [first: number, last: number][];
  /** Counts of each anomaly, and the last one. */
  gap: number;
  late: number;
  repeat: number;
  reset: number;
  lastAnomaly?: { anomaly: Anomaly; sequence: number; expected: number; messageId: string };
}

/** After the highest number it starts again. */
export const computeNextSequence = (last: number): number => (last < MAX_SEQUENCE ? last + 1 : 1);

export const sequenceRef = (project: string, from: string, to: string): Ref<Sequence> => ({
  pk: `${project}#sequence#${from}#${to}`,
  sk: 'sequence',
});

/** Conflicts come only from the same sender and recipient. */
const COUNT_RETRIES = { attempts: 10 };

/**
 * The next number costs one write without a read. A repetition counts only if its number is the next one: the first
 * run may have crashed before the count.
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
      // A heartbeat may name anybody: sequences of unknown recipients would stay forever.
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

/** Numbers before them can no longer arrive late. */
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

/** Publishes anomalies. */
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
