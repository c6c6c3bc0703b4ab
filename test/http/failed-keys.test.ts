import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { HttpResponse } from '../../shared/http/http-message.ts';
import { createBodyReader } from '../../shared/http/read-body.ts';
import { testParley } from '../support/test-parley.ts';

const WRONG = `prl_default.requester.${'x'.repeat(43)}`;
const PER_MINUTE = 60;

const opened = async (t: TestContext) => {
  const lines: string[] = [];
  const { parley, agent, clock } = await testParley(t, {
    log: (level, message, facts) => lines.push(JSON.stringify([level, message, facts])),
  });
  const { key } = await agent('requester');
  const ask = (source: string, authorization?: string): Promise<HttpResponse> =>
    parley.handle({
      method: 'GET',
      path: '/v1/inbox',
      query: '',
      headers: { authorization },
      source,
      readBody: createBodyReader(new Uint8Array()),
    });
  const guess = async (source: string, times: number): Promise<number[]> => {
    const statuses: number[] = [];
    for (let n = 0; n < times; n++) statuses.push((await ask(source, `Bearer ${WRONG}`)).status);
    return statuses;
  };
  return { ask, guess, key, clock, lines };
};

describe('failed authentication', () => {
  it('answers 429 instead of 401 beyond the limit of wrong keys per address and minute', async (t) => {
    const { ask, guess, clock } = await opened(t);
    assert.deepEqual(await guess('1.2.3.4', PER_MINUTE + 1), [...Array(PER_MINUTE).fill(401), 429]);
    const { status, headers, body } = await ask('1.2.3.4', `Bearer ${WRONG}`);
    assert.deepEqual([status, JSON.parse(String(body)).code], [429, 'rate_limited']);
    assert.ok(Number(headers['retry-after']) > 0 && Number(headers['retry-after']) <= 60);
    clock.advance(Number(headers['retry-after']) * 1000);
    assert.deepEqual(await guess('1.2.3.4', 1), [401]);
  });

  it('limits only wrong keys of that address, not valid keys and not other addresses', async (t) => {
    const { ask, guess, key } = await opened(t);
    await guess('1.2.3.4', PER_MINUTE + 1);
    assert.deepEqual(await guess('5.6.7.8', 1), [401]);
    assert.equal((await ask('1.2.3.4', `Bearer ${key}`)).status, 200);
    assert.equal((await ask('1.2.3.4')).status, 401);
  });

  it('logs failed authentication once per address and minute, without the key', async (t) => {
    const { guess, clock, lines } = await opened(t);
    await guess('1.2.3.4', 20);
    await guess('5.6.7.8', 1);
    clock.advance(60_000);
    await guess('1.2.3.4', 2);
    const told = lines.filter((line) => line.includes('authentication failed'));
    assert.deepEqual(
      told.map((line) => JSON.parse(line)[2]),
      [
        { source: '1.2.3.4', minuteBefore: 0 },
        { source: '5.6.7.8', minuteBefore: 0 },
        { source: '1.2.3.4', minuteBefore: 20 },
      ],
    );
    assert.ok(!lines.join().includes('x'.repeat(43)));
  });
});
