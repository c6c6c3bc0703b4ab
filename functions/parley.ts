import { Logger } from '@aws-lambda-powertools/logger';
import config from '../parley.config.ts';
import { directoryOf } from '../shared/agents/directory.ts';
import type { Deps } from '../shared/deps.ts';
import { awsClients } from '../shared/engines/aws/clients.ts';
import { type AwsEngine, awsEngine } from '../shared/engines/aws/engine.ts';
import type { Announce } from '../shared/engines/aws/events.ts';
import { newId } from '../shared/ids.ts';
import { laneNames, laneSuffix } from '../shared/lane-names.ts';
import type { Log } from '../shared/log.ts';
import { systemClock as clock } from '../shared/ports/clock.ts';
import { PACKING } from '../shared/tasks/packing.ts';
import { FunctionEnv } from './env.ts';
import { measure } from './measured.ts';

export const logger = new Logger();

const log: Log = (level, message, facts = {}) => logger[level](message, facts);

/** Those that the deployment has a queue for. */
const LANES = new Set(laneNames(config.projects).map(({ suffix }) => suffix));

export interface Wired {
  deps: Deps;
  engine: AwsEngine;
}

/** The system as one instance of a function has it: made once, on its cold start. */
export const wired = (announce?: Announce): Wired => {
  const env = FunctionEnv.parse(process.env);
  const engine = awsEngine({
    clients: awsClients(),
    table: env.TABLE_NAME,
    bucket: env.BUCKET_NAME,
    laneUrlPrefix: env.LANE_URL_PREFIX,
    delayQueueUrl: env.DELAY_QUEUE_URL,
    laneSuffix,
    hasLane: (lane) => LANES.has(laneSuffix(lane)),
    log,
    announce,
    packing: PACKING,
    eventsKeepMs: config.events.keepMs,
    clock,
    newId,
  });
  const deps = {
    ...engine.ports,
    clock,
    config,
    log,
    measure,
    newId,
    directory: directoryOf(engine.ports.records, clock),
  };
  return { engine, deps };
};
