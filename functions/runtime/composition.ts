import baseConfig from '../../parley.config.ts';
import { withTracingEnvironment } from '../../shared/config/tracing-environment.ts';
import { RECORDS } from '../../shared/effects/record-definitions.ts';
import { createAwsClients } from '../../shared/engines/aws/aws-clients.ts';
import { type AwsEngine, type AwsEngineOptions, createAwsEngine } from '../../shared/engines/aws/aws-engine.ts';
import { createDirectory } from '../../shared/identity/agents/directory.ts';
import type { Deps } from '../../shared/identity/deps.ts';
import { generateId } from '../../shared/kernel/ids.ts';
import { systemClock as clock } from '../../shared/ports/clock.ts';
import type { HttpSender } from '../../shared/ports/http-sender.ts';
import { buildQueueSuffix, listQueues } from '../../shared/ports/queue-names.ts';
import { FunctionEnv } from './env.ts';
import { log } from './function-logger.ts';
import { recordMetric } from './metrics-buffer.ts';

const config = withTracingEnvironment(baseConfig, process.env);

/** Those that the deployment has a queue for. */
const QUEUE_SUFFIXES = new Set(listQueues(config.projects).map(({ suffix }) => suffix));

export interface Runtime {
  deps: Deps;
  engine: AwsEngine;
}

interface RuntimeOptions extends Pick<AwsEngineOptions, 'publishExternally' | 'inspectQueues' | 'share'> {
  /** Of a function that calls what users named. */
  createSender?: (allowsPrivate: boolean) => HttpSender;
}

const createNoSender = (): HttpSender => {
  const refuse = (): never => {
    throw new Error('this function calls nobody');
  };
  return { assertAllowed: refuse, send: refuse };
};

/** The system as one instance of a function has it: made once, on its cold start. */
export const createRuntime = ({
  publishExternally,
  inspectQueues,
  share,
  createSender = createNoSender,
}: RuntimeOptions = {}): Runtime => {
  const env = FunctionEnv.parse(process.env);
  const engine = createAwsEngine({
    clients: createAwsClients(),
    table: env.TABLE_NAME,
    bucket: env.BUCKET_NAME,
    queueUrlPrefix: env.QUEUE_URL_PREFIX,
    wakeQueueUrl: env.WAKE_QUEUE_URL,
    share,
    delayQueueUrl: env.DELAY_QUEUE_URL,
    toQueueSuffix: buildQueueSuffix,
    hasQueue: (queueKey) => QUEUE_SUFFIXES.has(buildQueueSuffix(queueKey)),
    log,
    publishExternally,
    inspectQueues,
    storageSchema: RECORDS,
    eventRetentionMs: config.events.retentionMs,
    clock,
    newId: generateId,
  });
  const deps = {
    ...engine.ports,
    clock,
    config,
    log,
    recordMetric,
    newId: generateId,
    httpSender: createSender(config.outbound.allowPrivateAddresses),
    directory: createDirectory(engine.ports.records, clock),
  };
  return { engine, deps };
};
