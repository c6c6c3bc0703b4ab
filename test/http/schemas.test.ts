import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as z from 'zod';
import { DIALECT_NAMES } from '../../shared/dialects/registry.ts';
import { callerWith, taskRequest } from '../support/api.ts';
import { tfRequest } from '../support/task-format.ts';
import { testParley } from '../support/test-parley.ts';
import { assertRefused } from './refusal.ts';

const NAMES = ['task.schema.json', ...DIALECT_NAMES.map((name) => `${name}.json`)];

describe('GET /schemas/{name}', () => {
  it('serves a JSON Schema 2020-12 for tasks and for each dialect without a key', async (t) => {
    const { transport } = await testParley(t);
    const nobody = callerWith(transport, undefined);
    for (const name of NAMES) {
      const { status, body } = await nobody.call('GET', `/schemas/${name}`);
      assert.equal(status, 200);
      assert.equal(body.$schema, 'https://json-schema.org/draft/2020-12/schema');
      assert.equal(body.$id, `/schemas/${name}`);
      assert.doesNotThrow(() => z.fromJSONSchema(body), name);
    }
  });

  it('accepts valid messages and rejects invalid ones by its schemas', async (t) => {
    const { admin } = await testParley(t);
    const judge = async (name: string) => {
      const schema = z.fromJSONSchema((await admin.call('GET', `/schemas/${name}`)).body);
      return (message: object) => schema.safeParse(JSON.parse(JSON.stringify(message))).success;
    };
    const isTask = await judge('task.schema.json');
    const error = { code: 'TIMEOUT', message: 'too slow' };
    const right = [
      tfRequest(),
      { id: 'a', status: 'pending' },
      { id: 'a', status: 'failed', error },
      { id: 'a', input: 1 },
      tfRequest({ colour: 1 }),
      { signalId: 'a', to: 'cook', type: 'blocked' },
    ];
    for (const message of right) assert.ok(isTask(message), JSON.stringify(message));
    const wrong = [
      tfRequest({ payload: 1 }),
      { id: 'a', status: 'done' },
      { id: 'a', status: 'failed' },
      { id: 'a', status: 'in_progress', result: {} },
      { signalId: 'a', type: 'blocked' },
    ];
    for (const message of wrong) assert.ok(!isTask(message), JSON.stringify(message));
    const isRoundTable = await judge('round-table.json');
    assert.ok(isRoundTable(taskRequest('requester')));
    assert.ok(!isRoundTable(taskRequest('requester', { ttl: 0 })));
  });

  it('names the known schemas when the name is unknown', async (t) => {
    const { transport } = await testParley(t);
    const reply = await callerWith(transport, undefined).call('GET', '/schemas/latin.json');
    assertRefused(reply, 404, 'not_found');
    assert.deepEqual(reply.body.known.toSorted(), NAMES.toSorted());
  });
});
