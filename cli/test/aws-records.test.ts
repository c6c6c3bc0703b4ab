import assert from 'node:assert/strict';
import { after, it } from 'node:test';
import { RECORDS } from '../../shared/effects/record-definitions.ts';
import { createDynamoRecords } from '../../shared/engines/aws/dynamo-records.ts';
import { createDynamoTable } from '../../shared/engines/aws/dynamo-table.ts';
import { systemClock } from '../../shared/ports/clock.ts';
import { startTable, TABLE } from '../../test/aws/worlds.ts';
import { tempDir } from '../../test/support/server-process.ts';
import { EXIT } from '../command.ts';
import { createRunner } from './run-parley.ts';

it('parley records get decodes the records of a table on AWS, and says what to do without one', async () => {
  const { services, dynamo, clients } = await startTable();
  after(async () => {
    dynamo.destroy();
    clients.sqs.destroy();
    await services.stop();
  });
  const { endpoint, region, credentials } = services.dynamo;
  const { parley, succeeds } = createRunner(tempDir({ after }), {
    AWS_ENDPOINT_URL: endpoint,
    AWS_ACCESS_KEY_ID: credentials.accessKeyId,
    AWS_SECRET_ACCESS_KEY: credentials.secretAccessKey,
  });
  const records = createDynamoRecords(createDynamoTable(dynamo, TABLE, RECORDS, systemClock));
  const fields = { project: 'default', id: '1', capability: 'intel.news', from: 'tim', status: 'requested' };
  const task = { pk: 'default#task#1', sk: 'task', ...fields, input: { topic: 'tides '.repeat(40) } };
  await records.transact([{ kind: 'create', item: task }], 'once');
  const where = ['--table', TABLE, '--region', region];
  const found = JSON.parse(await succeeds(['records', 'get', task.pk, 'task', ...where, '--json']));
  assert.deepEqual({ ...found, ...task }, found);
  assert.equal(JSON.parse(await succeeds(['records', 'get', task.pk, ...where, '--json'])).id, '1');
  const none = await parley(['records', 'get', 'default#task#2', ...where]);
  assert.deepEqual([none.code, none.err], [EXIT.failed, `parley: The table ${TABLE} has no record default#task#2.\n`]);
  const wrong = await parley(['records', 'get', task.pk, '--table', 'nowhere', '--region', region]);
  assert.equal(wrong.code, EXIT.failed);
  assert.match(wrong.err, /^parley: .+\n$/);
  assert.equal((await parley(['records', 'get', task.pk, ...where, '--data', 'x'])).code, EXIT.usage);
});
