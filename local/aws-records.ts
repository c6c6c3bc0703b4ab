import { parseArgs } from 'node:util';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { RECORDS } from '../shared/effects/record-definitions.ts';
import { createDynamoRecords } from '../shared/engines/aws/dynamo-records.ts';
import { createDynamoTable } from '../shared/engines/aws/dynamo-table.ts';
import { systemClock } from '../shared/ports/clock.ts';
import { findRecords } from './find-records.ts';
import { printRecords } from './print-records.ts';

/** Reads the table of a deployment with the credentials of the environment, as its functions decode it. */
const run = async (): Promise<void> => {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      table: { type: 'string', default: '' },
      region: { type: 'string' },
      json: { type: 'boolean', default: false },
    },
  });
  const [pk = '', sk] = positionals;
  const dynamo = new DynamoDBClient(values.region === undefined ? {} : { region: values.region });
  const records = createDynamoRecords(createDynamoTable(dynamo, values.table, RECORDS, systemClock));
  const found = await findRecords({ records }, { pk, sk });
  printRecords(found, [pk, sk], `The table ${values.table}`, values.json);
};

try {
  await run();
} catch (error) {
  const { name, message } = error instanceof Error ? error : { name: '', message: String(error) };
  const todo = /Credentials|Token|Signature/.test(name) ? ' Sign in to AWS first, or set AWS_PROFILE.' : '';
  process.stderr.write(`parley: ${message.replace(/\.?$/, '.')}${todo}\n`);
  process.exitCode = 1;
}
