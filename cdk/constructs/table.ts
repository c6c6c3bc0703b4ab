import type { RemovalPolicy } from 'aws-cdk-lib';
import {
  AttributeType,
  BillingMode,
  ProjectionType,
  StreamViewType,
  Table,
  TableEncryption,
} from 'aws-cdk-lib/aws-dynamodb';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import type { Construct } from 'constructs';
import type { TableIndexName } from '../function-specs.ts';

export interface TableProps {
  removal: RemovalPolicy;
  protect: boolean;
  key?: IKey;
}

interface IndexKeys {
  partition: string;
  sort: { name: string; type: AttributeType };
}

const INDEX_KEYS: Record<TableIndexName, IndexKeys> = {
  byList: { partition: 'byListPk', sort: { name: 'byListSk', type: AttributeType.STRING } },
  byHolder: { partition: 'byHolderPk', sort: { name: 'byHolderSk', type: AttributeType.STRING } },
  due: { partition: 'dueShard', sort: { name: 'due', type: AttributeType.NUMBER } },
};

export const createParleyTable = (scope: Construct, { removal, protect, key }: TableProps): Table => {
  const table = new Table(scope, 'Table', {
    partitionKey: { name: 'pk', type: AttributeType.STRING },
    sortKey: { name: 'sk', type: AttributeType.STRING },
    billingMode: BillingMode.PAY_PER_REQUEST,
    timeToLiveAttribute: 'ttl',
    stream: StreamViewType.NEW_AND_OLD_IMAGES,
    pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true },
    deletionProtection: protect,
    removalPolicy: removal,
    ...(key ? { encryption: TableEncryption.CUSTOMER_MANAGED, encryptionKey: key } : {}),
  });
  for (const [indexName, { partition, sort }] of Object.entries(INDEX_KEYS)) {
    table.addGlobalSecondaryIndex({
      indexName,
      partitionKey: { name: partition, type: AttributeType.STRING },
      sortKey: sort,
      projectionType: ProjectionType.KEYS_ONLY,
    });
  }
  return table;
};
