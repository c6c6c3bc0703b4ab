import type { DynamoDBBatchItemFailure, DynamoDBRecord } from 'aws-lambda';
import { dispatch } from '../shared/dispatch/dispatch.ts';
import { onBus } from '../shared/engines/aws/bus.ts';
import type { Announce } from '../shared/engines/aws/events.ts';
import { systemClock } from '../shared/ports/clock.ts';
import type { RecordChange } from '../shared/ports/records.ts';
import { isTask } from '../shared/tasks/look-up.ts';
import type { Status } from '../shared/tasks/task.ts';
import { aboutRecord } from './about-record.ts';
import { FunctionEnv } from './env.ts';
import { counted } from './metrics.ts';
import { logger, wired } from './parley.ts';

const bus = onBus(FunctionEnv.parse(process.env).BUS_NAME, systemClock);

/** The log has the events in any case; what the bus does not take must not hold up everything else. */
const announce: Announce = async (events) => {
  try {
    await bus(events);
  } catch (error) {
    logger.error('events were not announced on the bus', { events: events.map(({ id }) => id), error: String(error) });
    counted({ EventsNotAnnounced: events.length });
  }
};

const { engine, deps } = wired(announce);

/**
 * All at once where that works, so that events and messages go in batches. Where it does not, record by record, so that one
 * which cannot be carried out holds up nothing but its own later ones. Says which failed, the first of them first: the stream
 * comes back from there.
 */
export const dispatchRecords = async (records: DynamoDBRecord[]): Promise<DynamoDBBatchItemFailure[]> => {
  try {
    await carryOut(records);
    return [];
  } catch (error) {
    logger.warn('a batch failed and is carried out one by one', { records: records.length, error: String(error) });
  }
  const byRecord = [...Map.groupBy(records, ({ dynamodb }) => JSON.stringify(dynamodb?.Keys)).values()];
  const failed = (await Promise.all(byRecord.map(firstFailure))).filter((record) => record !== undefined);
  return records
    .filter((record) => failed.includes(record))
    .slice(0, 1)
    .map(({ dynamodb }) => ({ itemIdentifier: dynamodb?.SequenceNumber ?? '' }));
};

const carryOut = async (records: DynamoDBRecord[]): Promise<void> => {
  const changes = records.flatMap(({ dynamodb = {} }) => engine.changesIn(dynamodb));
  await Promise.all([dispatch(deps, changes), engine.timers.hurry(changes)]);
  counted(countsOf(changes));
};

const firstFailure = async (records: DynamoDBRecord[]): Promise<DynamoDBRecord | undefined> => {
  for (const record of records) {
    try {
      await carryOut([record]);
    } catch (error) {
      const { Keys: keys, SequenceNumber: sequence } = record.dynamodb ?? {};
      const about = { record: keys?.pk?.S, ...toldOf(record), sequence };
      logger.error('a change could not be carried out', { ...about, error: String(error) });
      return record;
    }
  }
  return undefined;
};

/** What cannot even be read is known by its key alone. */
const toldOf = ({ dynamodb = {} }: DynamoDBRecord): Record<string, string | undefined> => {
  try {
    const change = engine.changesIn(dynamodb).at(-1);
    return aboutRecord(change?.after ?? change?.before);
  } catch {
    return {};
  }
};

/** How many tasks came to each state. */
const countsOf = (changes: RecordChange[]): Record<string, number> => {
  const counts: Record<string, number> = { ChangesDispatched: changes.length };
  for (const { before, after } of changes) {
    if (!after || !isTask(after) || (before && isTask(before) && before.status === after.status)) continue;
    const name = METRICS[after.status];
    if (name) counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
};

const METRICS: Partial<Record<Status, string>> = {
  requested: 'TasksRequested',
  completed: 'TasksCompleted',
  failed: 'TasksFailed',
  expired: 'TasksExpired',
};
