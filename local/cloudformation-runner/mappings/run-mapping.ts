import { setTimeout as pause } from 'node:timers/promises';
import { buildJsonRequest, parseJsonResponse } from '../backends/call-json.ts';
import type { DynamoDbLocal } from '../backends/dynamodb-local.ts';
import type { Gateway } from '../gateway/gateway.ts';
import type { LambdaFunction } from '../lambda/lambda-function.ts';
import type { Random } from '../random.ts';
import type { ResourceContext } from '../resource-type.ts';
import { buildFailureObject, type FailedBatch } from './failure-record.ts';
import type { RunningMapping } from './mapping.ts';
import type { PlannedMapping } from './mappings.ts';
import { runQueueMapping } from './queue-mapping.ts';
import { runStreamMapping } from './stream-mapping.ts';
import type { StreamPositions } from './stream-positions.ts';
import { TableStream } from './stream-records.ts';

interface MappingResources {
  site: ResourceContext;
  gateway: Gateway;
  dynamodb: DynamoDbLocal;
  positions: StreamPositions;
  target: LambdaFunction;
  random: Random;
  onError(line: string): void;
}

const AFTER_ERROR_MS = 1000;

/** Lambda reads with the function's role, so these calls pass the gateway too. */
export const runMapping = (mapping: PlannedMapping, resources: MappingResources): RunningMapping => {
  const { site, gateway, dynamodb, target, random, onError, positions } = resources;
  const { properties, mappingId } = mapping;
  const { access } = mapping.function;
  const accessKey = `${mapping.function.accessKey}M`;
  gateway.addCaller(accessKey, { name: `${mapping.function.name} mapping`, access });
  if (mapping.source === 'queue') {
    const sqs = async (operation: string, body: object, signal?: AbortSignal): Promise<unknown> => {
      const call = `AmazonSQS.${operation}`;
      return parseJsonResponse(
        call,
        await gateway.handle(buildJsonRequest(accessKey, site.region, 'sqs', call, body, signal)),
      );
    };
    return runQueueMapping({ properties, queue: mapping.queue, target, sqs, onError });
  }
  const { streamArn, table, failureBucket, partitionKey } = mapping;
  const putFailureObject = async (givenUp: FailedBatch): Promise<void> => {
    const source = { mappingId, functionArn: mapping.function.arn, streamArn };
    onError(`${target.name}: ${givenUp.condition} for ${givenUp.records.length} records of the stream`);
    if (failureBucket === undefined) return;
    const { key, body } = buildFailureObject(source, givenUp, new Date());
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
    random,
    positions,
    onWrite: (listener) => gateway.onWrite(table, listener),
    storeFailure: putFailureObject,
    onError,
  });
};

const putObject = async (gateway: Gateway, accessKey: string, site: ResourceContext, path: string, body: string) => {
  const { headers } = buildJsonRequest(accessKey, site.region, 's3', '', {});
  const { authorization = '' } = headers;
  const { status } = await gateway.handle({
    method: 'PUT',
    path,
    headers: { authorization, 'content-type': 'application/json' },
    body: Buffer.from(body),
  });
  return status === 200;
};
