import type { DynamoDBRecord } from 'aws-lambda';
import config from '../../parley.config.ts';
import { buildBusName, listBusTypes } from '../../shared/config/bus-names.ts';
import { toTracesUrl } from '../../shared/config/tracing-environment.ts';
import { dispatchChanges } from '../../shared/effects/dispatcher.ts';
import { isPassingFault } from '../../shared/engines/aws/aws-errors.ts';
import type { PublishExternally } from '../../shared/engines/aws/dynamo-events.ts';
import { createBusPublisher } from '../../shared/engines/aws/event-bridge-publisher.ts';
import { SpanExporter } from '../../shared/engines/outbound/span-exporter.ts';
import { systemClock } from '../../shared/ports/clock.ts';
import { matchesTypes } from '../../shared/ports/events.ts';
import { listProjectsToRollUp } from '../../shared/statistics/draw-roll-up.ts';
import { rollUpStatistics } from '../../shared/statistics/roll-up.ts';
import { createRuntime } from './composition.ts';
import { FunctionEnv } from './env.ts';
import { log, logger } from './function-logger.ts';
import { publishCounts } from './metrics.lazy.ts';
import { flushMetrics } from './metrics-buffer.ts';
import { getRecordLogFields } from './record-log-fields.ts';

const env = FunctionEnv.parse(process.env);
const { aws } = config;
const publishToBus = createBusPublisher(
  ({ project, type }) =>
    aws && matchesTypes(listBusTypes(aws, project), type) ? buildBusName(env.STAGE, project) : undefined,
  systemClock,
);

/** The log has the events in any case; what the bus does not take must not hold up everything else. */
const publishOrCount: PublishExternally = async (events) => {
  try {
    await publishToBus(events);
  } catch (error) {
    logger.error('publishing to the event bus failed', { events: events.map(({ id }) => id), error: String(error) });
    publishCounts({ EventsNotPublished: events.length });
  }
};

const { engine, deps: base } = createRuntime({ publishExternally: publishOrCount });

const { endpoint, headers, serviceName } = base.config.tracing;
const spans =
  endpoint === undefined
    ? undefined
    : new SpanExporter({
        url: toTracesUrl(endpoint),
        headers,
        resource: { 'service.name': serviceName, 'deployment.environment.name': env.STAGE, 'cloud.provider': 'aws' },
        log,
        clock: systemClock,
      });
const deps = { ...base, spans };

/** A record that was not carried out, or not even tried behind an earlier one of its key. */
export interface UndoneRecord {
  record: DynamoDBRecord;
  /** Whether another attempt will fail as well. */
  isPoison: boolean;
}

/**
 * All at once where that works, so that events and messages go in batches. Where it does not, record by record, so that one
 * which cannot be carried out holds up nothing but, for a passing fault, its own later ones. In the order of the records.
 */
export const dispatchStreamRecords = async (records: DynamoDBRecord[]): Promise<UndoneRecord[]> => {
  try {
    await dispatchTogether(records);
    return [];
  } catch (error) {
    logger.warn('stream batch failed, retrying one by one', { records: records.length, error: String(error) });
  }
  const byKey = [...Map.groupBy(records, ({ dynamodb }) => JSON.stringify(dynamodb?.Keys)).values()];
  const undone = new Map((await Promise.all(byKey.map(dispatchInTurn))).flat().map((one) => [one.record, one]));
  return records.flatMap((record) => undone.get(record) ?? []);
};

/** A task's message that its write has sent is not sent again when SQS would no longer know it as the same. */
const SEND_WITHIN_MS = 4 * 60_000;

const dispatchTogether = async (records: DynamoDBRecord[]): Promise<void> => {
  const changes = records.flatMap(({ dynamodb = {} }) => engine.decodeStreamRecord(dynamodb));
  await Promise.all([
    dispatchChanges(deps, changes, { sendWithinMs: SEND_WITHIN_MS }),
    engine.timers.scheduleSoonDue(changes),
  ]);
  publishCounts({ ChangesDispatched: changes.length });
  await flushMetrics();
  await Promise.all([...listProjectsToRollUp(changes).map(rollUp), spans?.flush()]);
};

/** Whatever is not counted now is counted by the next. */
const rollUp = async (project: string): Promise<void> => {
  try {
    await rollUpStatistics(deps, project);
  } catch (error) {
    logger.warn('statistics not rolled up', { project, error: String(error) });
  }
};

const dispatchInTurn = async (records: DynamoDBRecord[]): Promise<UndoneRecord[]> => {
  const undone: UndoneRecord[] = [];
  for (const [at, record] of records.entries()) {
    try {
      await dispatchTogether([record]);
    } catch (error) {
      const isPoison = !isPassingFault(error);
      const { Keys: keys, SequenceNumber: sequence } = record.dynamodb ?? {};
      const about = { record: keys?.pk?.S, ...getChangeLogFields(record), sequence, isPoison };
      logger.error('change dispatch failed', { ...about, error: String(error) });
      if (!isPoison) return [...undone, ...records.slice(at).map((later) => ({ record: later, isPoison }))];
      undone.push({ record, isPoison });
    }
  }
  return undone;
};

/** What cannot even be read is known by its key alone. */
const getChangeLogFields = ({ dynamodb = {} }: DynamoDBRecord): Record<string, string | undefined> => {
  try {
    const change = engine.decodeStreamRecord(dynamodb).at(-1);
    return getRecordLogFields(change?.after ?? change?.before);
  } catch {
    return {};
  }
};
