import { randomUUID } from 'node:crypto';
import { SQSClient, type SQSClientConfig } from '@aws-sdk/client-sqs';
import { deleteFromLanes, receiveFromLane, releaseToLanes, type SqsLanes } from '../shared/engines/aws/lane-queues.ts';
import { laneSuffix } from '../shared/lane-names.ts';
import { systemClock } from '../shared/ports/clock.ts';
import { WAIT_MS } from './down.ts';
import { MOST_AT_ONCE, type Source } from './source.ts';

/** The queues of a deployment on AWS. */
export const sqsSource = (
  urlPrefix: string,
  project: string,
  visibilityMs: number,
  client: Pick<SQSClientConfig, 'endpoint' | 'region' | 'credentials'> = {},
): Source => {
  const lanes: SqsLanes = {
    sqs: new SQSClient({
      ...client,
      useQueueUrlAsEndpoint: false,
      // A receive says nothing for as long as it waits.
      requestHandler: {
        connectionTimeout: 5000,
        requestTimeout: WAIT_MS + 10_000,
        throwOnRequestTimeout: true,
      },
    }),
    urlPrefix,
    suffixOf: laneSuffix,
    has: () => true,
    onLost: () => {},
    clock: systemClock,
    newId: randomUUID,
  };
  return {
    receive: (priority, waitMs, signal) =>
      receiveFromLane(
        lanes,
        { project, kind: 'relay', name: 'down', priority },
        { max: MOST_AT_ONCE, waitSeconds: waitMs / 1000, visibilityMs, signal },
      ),
    delete: (messages) => deleteFromLanes(lanes, messages),
    release: (messages) => releaseToLanes(lanes, messages),
  };
};
