import { randomUUID } from 'node:crypto';
import { SQSClient, type SQSClientConfig } from '@aws-sdk/client-sqs';
import type { SqsQueues } from '../shared/engines/aws/sqs-queue.ts';
import { deleteFromSqs, receiveSkipping, releaseToSqs } from '../shared/engines/aws/sqs-receive.ts';
import { systemClock } from '../shared/ports/clock.ts';
import { buildQueueSuffix } from '../shared/ports/queue-names.ts';
import { RECEIVE_WAIT_MS } from './egress.ts';
import { type EgressSource, MAX_RECEIVE } from './egress-source.ts';

export const createSqsSource = (
  urlPrefix: string,
  project: string,
  visibilityMs: number,
  client: Pick<SQSClientConfig, 'endpoint' | 'region' | 'credentials'> = {},
): EgressSource => {
  const queueKeys: SqsQueues = {
    sqs: new SQSClient({
      ...client,
      useQueueUrlAsEndpoint: false,
      // A long poll sends no bytes while it waits, so the socket timeout must exceed the wait.
      requestHandler: {
        connectionTimeout: 5000,
        requestTimeout: RECEIVE_WAIT_MS + 10_000,
        throwOnRequestTimeout: true,
      },
    }),
    urlPrefix,
    toSuffix: buildQueueSuffix,
    hasQueue: () => true,
    onUndeliverable: () => {},
    clock: systemClock,
    newId: randomUUID,
  };
  return {
    receive: (priority, waitMs, signal) =>
      receiveSkipping(
        queueKeys,
        { project, kind: 'relay', name: 'egress', priority },
        { max: MAX_RECEIVE, waitSeconds: waitMs / 1000, visibilityMs, signal },
      ),
    delete: (messages) => deleteFromSqs(queueKeys, messages),
    release: (messages) => releaseToSqs(queueKeys, messages),
  };
};
