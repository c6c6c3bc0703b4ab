import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { getHeapSpaceStatistics } from 'node:v8';
import type { HttpRequest } from '../../shared/http/http-message.ts';
import { createBodyReader } from '../../shared/http/read-body.ts';
import { testParley } from '../support/test-parley.ts';
import { settled } from './refusal.ts';

const ROUNDS = 240;
const AT_ONCE = 8;
/** 64 KB, so that all calls together are 120 MB: several times what the young generation holds. */
const PAYLOAD_LENGTH = 8192;

const oldSpaceMb = (): number =>
  getHeapSpaceStatistics()
    .filter(({ space_name: name }) => name === 'old_space')
    .reduce((mb, { space_used_size: bytes }) => mb + bytes / 2 ** 20, 0);

describe('the memory of a call', () => {
  it('is freed by the next collection of the young generation once the call has waited and ended', async (t) => {
    const parley = await testParley(t);
    const { key } = await parley.agent('waiter');
    const wait = () => {
      const request: HttpRequest & { payload: number[] } = {
        method: 'POST',
        path: '/v1/claims',
        query: '',
        headers: { authorization: `Bearer ${key}` },
        readBody: createBodyReader(Buffer.from('{"wait":5}')),
        signal: new AbortController().signal,
        payload: new Array(PAYLOAD_LENGTH).fill(0),
      };
      return parley.parley.handle(request);
    };
    let [known, grown] = [oldSpaceMb(), 0];
    for (let round = 0; round < ROUNDS; round++) {
      const calls = Array.from({ length: AT_ONCE }, wait);
      await settled(parley);
      parley.clock.advance(5000);
      for (const { status } of await Promise.all(calls)) assert.equal(status, 200);
      const now = oldSpaceMb();
      // A full collection, which may come at any time, would hide what was kept until then.
      grown += Math.max(0, now - known);
      known = now;
    }
    assert.ok(
      grown < 40,
      `calls of ${(ROUNDS * AT_ONCE * PAYLOAD_LENGTH) / 2 ** 17} MB added ${grown.toFixed(0)} MB to the old generation`,
    );
  });
});
