import { randomUUID } from 'node:crypto';
import { DeleteMessageCommand, ReceiveMessageCommand } from '@aws-sdk/client-sqs';
import { ensureKey } from '../../../local/ensure-key.ts';
import { dispatchChanges } from '../../../shared/effects/dispatcher.ts';
import { RECORDS } from '../../../shared/effects/record-definitions.ts';
import { onTimer } from '../../../shared/effects/record-handlers.ts';
import { createAwsClients } from '../../../shared/engines/aws/aws-clients.ts';
import { createAwsEngine } from '../../../shared/engines/aws/aws-engine.ts';
import { SWEEP_LOOKAHEAD_MS } from '../../../shared/engines/aws/aws-timers.ts';
import { createGuardedSender } from '../../../shared/engines/outbound/guarded-sender.ts';
import { createRouter } from '../../../shared/http/router.ts';
import { routes } from '../../../shared/http/routes/routes.ts';
import { createDirectory } from '../../../shared/identity/agents/directory.ts';
import type { Deps } from '../../../shared/identity/deps.ts';
import { buildQueueSuffix, listQueues } from '../../../shared/ports/queue-names.ts';
import { hostilePorts } from '../../support/hostile-ports.ts';
import type { System, World } from './embedded.ts';
import { ADMIN_KEY, BUCKET, chaosConfig, TABLE } from './job.ts';

const CREDENTIALS = { accessKeyId: 'test', secretAccessKey: 'test' };

/** One instance of every function, on the engine as it is deployed. Its parent is the stream, the schedule and the event source. */
export const startAwsInstance = async ({ job, clock, random, log }: World): Promise<System> => {
  const { aws } = job;
  if (!aws) throw new Error('there is nothing to run on');
  const config = chaosConfig('aws');
  const at = (endpoint: string) => ({ endpoint, region: aws.region, credentials: CREDENTIALS });
  const { dynamo } = createAwsClients(at(aws.dynamo));
  const { sqs } = createAwsClients(at(aws.sqs));
  const { s3 } = createAwsClients(at(aws.s3));
  const suffixes = new Set(listQueues(config.projects).map(({ suffix }) => suffix));
  const engine = createAwsEngine({
    clients: { dynamo, sqs, s3 },
    table: TABLE,
    bucket: BUCKET,
    queueUrlPrefix: `${aws.sqs}/000000000000/`,
    delayQueueUrl: aws.delayQueueUrl,
    toQueueSuffix: buildQueueSuffix,
    hasQueue: (queueKey) => suffixes.has(buildQueueSuffix(queueKey)),
    log,
    storageSchema: RECORDS,
    eventRetentionMs: config.events.retentionMs,
    clock,
    newId: randomUUID,
    publishExternally: async () => {},
  });
  const ports = job.faults.includes('ports') ? hostilePorts(engine.ports, random) : engine.ports;
  const deps: Deps = {
    ...ports,
    clock,
    config,
    newId: randomUUID,
    httpSender: createGuardedSender({ allowsPrivate: false }),
    directory: createDirectory(ports.records, clock),
    log,
    recordMetric: () => {},
  };
  await ensureKey(engine.ports.records, 'default', 'admin', ADMIN_KEY);
  const dispatch = async (records: object[]): Promise<void> => {
    const changes = records.flatMap((record) => engine.decodeStreamRecord(record));
    await Promise.all([dispatchChanges(deps, changes), engine.timers.scheduleSoonDue(changes)]);
  };
  const workOffDue = async (): Promise<void> => {
    const QueueUrl = aws.delayQueueUrl;
    const { Messages: messages = [] } = await sqs.send(
      new ReceiveMessageCommand({ QueueUrl, MaxNumberOfMessages: 10, VisibilityTimeout: 1 }),
    );
    const fire = async ({ Body = '', ReceiptHandle }: (typeof messages)[number]): Promise<void> => {
      await engine.timers.fire(JSON.parse(Body), (record) => onTimer(deps, record));
      await sqs.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle }));
    };
    await Promise.allSettled(messages.map(fire));
  };
  return {
    handle: createRouter(deps, routes),
    carryOut: async (order) => {
      if (order.do === 'dispatch') await dispatch(order.records);
      if (order.do === 'sweep') await engine.timers.sweep(clock.now() + SWEEP_LOOKAHEAD_MS);
      if (order.do === 'due') await workOffDue();
    },
  };
};
