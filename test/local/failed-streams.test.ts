import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { startHttpServer } from '../../local/http-server.ts';
import { eventually } from '../support/eventually.ts';

describe('an answer that comes piece by piece', () => {
  it('ends with a line in the log where its source fails', async (t) => {
    const logged: string[] = [];
    const failing = async function* () {
      yield 'id: 1\n\n';
      throw new Error('the storage is away');
    };
    const handle = async () => ({ status: 200, headers: {}, body: failing() });
    const server = await startHttpServer(handle, 0, '127.0.0.1', (level, message, facts) =>
      logged.push(`${level} ${message} ${facts?.error}`),
    );
    t.after(() => server.close());
    await assert.rejects(async () => (await fetch(`http://127.0.0.1:${server.port}/v1/events`)).text());
    await eventually(() => assert.deepEqual(logged, ['error response aborted Error: the storage is away']));
  });
});
