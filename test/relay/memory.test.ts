import assert from 'node:assert/strict';
import { it } from 'node:test';
import { queryObjects } from 'node:v8';
import { jetstream } from '@nats-io/jetstream';
import { createParleyApi } from '../../relay/parley-api.ts';
import { eventually } from '../support/eventually.ts';
import { relaySite } from '../support/relay-site.ts';

const ROUND = 1000;

it('a relay keeps nothing of what it has carried', async (t) => {
  const site = await relaySite(t);
  const results = (messages: string[]) => messages.map(() => ({ status: 202, body: {} }));
  const api = {
    ...createParleyApi(site.address, () => site.key),
    sendMessages: async (messages: string[]) => results(messages),
  };
  const relay = await site.relay({ api, maxInflight: 25 });
  const js = jetstream(site.client);
  /** How many promises there are once another round has been carried. */
  const afterRound = async (round: number): Promise<number> => {
    for (let n = 0; n < ROUND; n += 100) {
      await Promise.all(Array.from({ length: 100 }, () => js.publish('parley.default.send', '{}')));
    }
    await eventually(() => assert.equal(relay.metrics.getCount('ingress', 'messages'), round * ROUND), 30_000);
    return Number(queryObjects(Promise, { format: 'count' }));
  };
  const first = await afterRound(1);
  const [, third] = [await afterRound(2), await afterRound(3)];
  assert.ok(third - first < 50, `${third - first} promises more after ${2 * ROUND} messages`);
});
