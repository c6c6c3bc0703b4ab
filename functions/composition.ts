import { Logger } from '@aws-lambda-powertools/logger';
import config from '../parley.config.ts';
import { createDirectory } from '../shared/agents/directory.ts';
import type { Deps } from '../shared/deps.ts';
import { createAwsClients } from '../shared/engines/aws/aws-clients.ts';
import { type AwsEngine, createAwsEngine } from '../shared/engines/aws/aws-engine.ts';
import type { PublishExternally } from '../shared/engines/aws/dynamo-events.ts';
import { generateId } from '../shared/ids.ts';
import type { Log } from '../shared/log.ts';
import { systemClock as clock } from '../shared/ports/clock.ts';
import { buildQueueSuffix, listQueues } from '../shared/queue-names.ts';
import { STORAGE_SCHEMA } from '../shared/tasks/storage-schema.ts';
import { FunctionEnv } from './env.ts';
import { recordMetric } from './metrics-buffer.ts';

export const logger = new Logger();

const log: Log = (level, message, facts = {}) => logger[level](message, facts);

/** Those that the deployment has a queue for. */
const QUEUE_SUFFIXES = new Set(listQueues(config.projects).map(({ suffix }) => suffix));

export interface Runtime {
  deps: Deps;
  engine: AwsEngine;
}

/** The system as one instance of a function has it: made once, on its cold start. */
export const createRuntime = (announce?: PublishExternally): Runtime => {
  const env = FunctionEnv.parse(process.env);
  const engine = createAwsEngine({
    clients: createAwsClients(),
    table: env.TABLE_NAME,
    bucket: env.BUCKET_NAME,
    laneUrlPrefix: env.LANE_URL_PREFIX,
    delayQueueUrl: env.DELAY_QUEUE_URL,
    laneSuffix: buildQueueSuffix,
    hasLane: (lane) => QUEUE_SUFFIXES.has(buildQueueSuffix(lane)),
    log,
    announce,
    packing: STORAGE_SCHEMA,
    eventsKeepMs: config.events.keepMs,
    clock,
    newId: generateId,
  });
  const deps = {
    ...engine.ports,
    clock,
    config,
    log,
    measure: recordMetric,
    newId: generateId,
    directory: createDirectory(engine.ports.records, clock),
  };
  return { engine, deps };
};
