import { PatternError } from '../events/event-pattern.ts';
import type { ResourceGraph } from '../graph.ts';
import { parseFunctionName } from '../iam/service-access.ts';
import type { PlannedFunction } from '../lambda/functions.ts';
import { EventSourceMapping } from '../resources/compute.ts';
import { Queue } from '../resources/messaging.ts';
import { DynamoTableType, GlobalTable } from '../resources/storage.ts';
import { type MappingProperties, parseFilter } from './mapping.ts';

export type PlannedMapping = { mappingId: string; properties: MappingProperties; function: PlannedFunction } & (
  | { source: 'queue'; queue: { name: string; url: string; arn: string; region: string } }
  | { source: 'stream'; table: string; partitionKey: string; streamArn: string; failureBucket: string | undefined }
);

const QUEUE_ACTIONS = ['sqs:ReceiveMessage', 'sqs:DeleteMessage', 'sqs:GetQueueAttributes'];
const STREAM_ACTIONS = ['dynamodb:GetRecords', 'dynamodb:GetShardIterator', 'dynamodb:DescribeStream'];
const DEFAULT_VISIBILITY_SECONDS = 30;
const S3_ARN = 'arn:aws:s3:::';

export const parseMappings = (plan: ResourceGraph, functions: readonly PlannedFunction[]): PlannedMapping[] =>
  plan.listResources(EventSourceMapping).flatMap(({ logicalId, name, properties }): PlannedMapping[] => {
    const checkMapping = (what: string): void => plan.mistakes.add(logicalId, what);
    const target = functions.find((each) => each.name === parseFunctionName(properties.FunctionName));
    if (!target) {
      checkMapping(`there is no function ${properties.FunctionName}`);
      return [];
    }
    const listMappingPermissions = (actions: readonly string[], resource: string): void => {
      for (const action of actions) {
        if (!target.access.isAllowed(action, resource))
          checkMapping(`the role of ${target.name} lacks ${action} on ${resource}`);
      }
    };
    try {
      parseFilter(properties);
    } catch (error) {
      checkMapping(error instanceof PatternError ? error.message : 'a filter pattern is not JSON');
    }
    if (!properties.Enabled) return [];
    const common = { mappingId: name, properties, function: target };

    const queue = plan.listResources(Queue).find(({ attributes }) => attributes.Arn === properties.EventSourceArn);
    if (queue) {
      listMappingPermissions(QUEUE_ACTIONS, properties.EventSourceArn);
      const visibility = queue.properties.VisibilityTimeout ?? DEFAULT_VISIBILITY_SECONDS;
      if (visibility < target.properties.Timeout)
        checkMapping(`the visibility of ${queue.name} is below the function's timeout`);
      const { region } = plan.site;
      return [
        {
          ...common,
          source: 'queue',
          queue: { name: queue.name, url: queue.ref, arn: properties.EventSourceArn, region },
        },
      ];
    }

    const tables = [...plan.listResources(DynamoTableType), ...plan.listResources(GlobalTable)];
    const table = tables.find(({ attributes }) => attributes.StreamArn === properties.EventSourceArn);
    if (!table?.properties.StreamSpecification) {
      checkMapping(`there is no queue and no stream ${properties.EventSourceArn}`);
      return [];
    }
    listMappingPermissions(STREAM_ACTIONS, properties.EventSourceArn);
    // ListStreams has no resource-level permission.
    listMappingPermissions(
      ['dynamodb:ListStreams'],
      target.access.isAllowed('dynamodb:ListStreams', '*') ? '*' : properties.EventSourceArn,
    );
    const destination = properties.DestinationConfig?.OnFailure.Destination;
    if (destination) {
      listMappingPermissions(['s3:PutObject'], `${destination}/aws/lambda/${name}`);
      listMappingPermissions(['s3:ListBucket'], destination);
    }
    const partitionKey = table.properties.KeySchema.find(({ KeyType }) => KeyType === 'HASH')?.AttributeName ?? '';
    return [
      {
        ...common,
        source: 'stream',
        table: table.name,
        partitionKey,
        streamArn: properties.EventSourceArn,
        failureBucket: destination?.slice(S3_ARN.length),
      },
    ];
  });
