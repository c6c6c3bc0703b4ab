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
import { LISTED_FIELDS } from '../../shared/effects/record-definitions.ts';
import type { TableIndexName } from '../function-specs.ts';

export interface TableProps {
  removal: RemovalPolicy;
  protect: boolean;
  key?: IKey;
  maxUnits?: TableUnits | undefined;
  warmUnits?: TableUnits | undefined;
}

/** A second. */
interface TableUnits {
  reads: number;
  writes: number;
}

interface IndexKeys {
  partition: string;
  sort: { name: string; type: AttributeType };
  /** Beside the keys. */
  attributes?: readonly string[];
}

const INDEX_KEYS: Record<TableIndexName, IndexKeys> = {
  byList: { partition: 'byListPk', sort: { name: 'byListSk', type: AttributeType.STRING } },
  byHolder: { partition: 'byHolderPk', sort: { name: 'byHolderSk', type: AttributeType.STRING } },
  byCreation: {
    partition: 'lp',
    sort: { name: 'ls', type: AttributeType.STRING },
    attributes: LISTED_FIELDS,
  },
  due: { partition: 'dueShard', sort: { name: 'due', type: AttributeType.NUMBER } },
};

export const createParleyTable = (
  scope: Construct,
  { removal, protect, key, maxUnits, warmUnits }: TableProps,
): Table => {
  // An index that throttles throttles the table.
  const throughput = {
    ...(maxUnits && { maxReadRequestUnits: maxUnits.reads, maxWriteRequestUnits: maxUnits.writes }),
    ...(warmUnits && {
      warmThroughput: { readUnitsPerSecond: warmUnits.reads, writeUnitsPerSecond: warmUnits.writes },
    }),
  };
  const table = new Table(scope, 'Table', {
    partitionKey: { name: 'pk', type: AttributeType.STRING },
    sortKey: { name: 'sk', type: AttributeType.STRING },
    billingMode: BillingMode.PAY_PER_REQUEST,
    timeToLiveAttribute: 'ttl',
    stream: StreamViewType.NEW_AND_OLD_IMAGES,
    pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true },
    ...throughput,
    deletionProtection: protect,
    removalPolicy: removal,
    ...(key ? { encryption: TableEncryption.CUSTOMER_MANAGED, encryptionKey: key } : {}),
  });
  for (const [indexName, { partition, sort, attributes }] of Object.entries(INDEX_KEYS)) {
    table.addGlobalSecondaryIndex({
      indexName,
      partitionKey: { name: partition, type: AttributeType.STRING },
      sortKey: sort,
      ...throughput,
      ...(attributes
        ? { projectionType: ProjectionType.INCLUDE, nonKeyAttributes: [...attributes] }
        : { projectionType: ProjectionType.KEYS_ONLY }),
    });
  }
  return table;
};
