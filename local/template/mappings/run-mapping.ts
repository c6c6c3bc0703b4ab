import { setTimeout as pause } from 'node:timers/promises';
import type { DynamoDbLocal } from '../backends/dynamodb-local.ts';
import { jsonAnswer, jsonRequest } from '../backends/json-call.ts';
import type { Gateway } from '../gateway/gateway.ts';
import type { Site } from '../kind.ts';
import type { LambdaFunction } from '../lambda/lambda-function.ts';
import { failureObject, type GivenUp } from './failure-record.ts';
import type { RunningMapping } from './mapping.ts';
import type { PlannedMapping } from './mappings.ts';
import type { StreamPositions } from './positions.ts';
import { runQueueMapping } from './queue-mapping.ts';
import { runStreamMapping } from './stream-mapping.ts';
import { TableStream } from './stream-records.ts';

interface MappingSurroundings {
  site: Site;
  gateway: Gateway;
  dynamodb: DynamoDbLocal;
  positions: StreamPositions;
  target: LambdaFunction;
  onError(line: string): void;
}

const AFTER_ERROR_MS = 1000;

/** Lambda reads and writes in the name of the function's role, and its calls go through the gateway like any other. */
export const runMapping = (mapping: PlannedMapping, surroundings: MappingSurroundings): RunningMapping => {
  const { site, gateway, dynamodb, target, onError, positions } = surroundings;
  const { properties, mappingId } = mapping;
  const { access } = mapping.function;
  const accessKey = `${mapping.function.accessKey}M`;
  gateway.addCaller(accessKey, { name: `${mapping.function.name} mapping`, access });
  if (mapping.source === 'queue') {
    const sqs = async (operation: string, body: object, signal?: AbortSignal): Promise<unknown> => {
      const call = `AmazonSQS.${operation}`;
      return jsonAnswer(call, await gateway.handle(jsonRequest(accessKey, site.region, 'sqs', call, body, signal)));
    };
    return runQueueMapping({ properties, queue: mapping.queue, target, sqs, onError });
  }
  const { streamArn, table, failureBucket, partitionKey } = mapping;
  const keep = async (givenUp: GivenUp): Promise<void> => {
    const source = { mappingId, functionArn: mapping.function.arn, streamArn };
    onError(`${target.name}: ${givenUp.condition} for ${givenUp.records.length} records of the stream`);
    if (failureBucket === undefined) return;
    const { key, body } = failureObject(source, givenUp, new Date());
    while (!(await putObject(gateway, accessKey, site, `/${failureBucket}/${key}`, body))) await pause(AFTER_ERROR_MS);
  };
  return runStreamMapping({
    mappingId,
    properties,
    streamArn,
    region: site.region,
    target,
    stream: new TableStream(dynamodb.call, table),
    partitionKey,
    positions,
    onWrite: (listener) => gateway.onWrite(table, listener),
    giveUp: keep,
    onError,
  });
};

const putObject = async (gateway: Gateway, accessKey: string, site: Site, path: string, body: string) => {
  const { headers } = jsonRequest(accessKey, site.region, 's3', '', {});
  const { authorization = '' } = headers;
  const { status } = await gateway.handle({
    method: 'PUT',
    path,
    headers: { authorization, 'content-type': 'application/json' },
    body: Buffer.from(body),
  });
  return status === 200;
};
