// Run by sdk-on-nodes.test.ts: what an agent and its requester do, on whatever Node.js this is.
import assert from 'node:assert/strict';
import { connect, Retry, TaskFailed } from 'parley-sdk';

const { PARLEY_URL: url, AGE: age } = process.env;
const requester = connect({ url, key: process.env.REQUESTER_KEY });
const parley = connect({ url, key: process.env.WORKER_KEY });
const worker = parley.worker({ concurrency: 4, drain: '5s' });
const ran = [];
const aborted = new Promise((resolve) => worker.when('aborted', ({ reason }) => reason === 'cancelled' && resolve()));

worker.on(`steps-${age}`, async (task, ctx) => {
  await ctx.progress(10, 'begun');
  const one = await ctx.step('one', () => ran.push('one'));
  if (task.attempt === 1) throw new Retry('once_more', { after: 0 });
  const many = await ctx.ask('How many?', { type: 'number' });
  const doubled = await ctx.call(`double-${age}`, many);
  ctx.attach({ name: 'notes.txt', type: 'text/plain', content: 'Grüße' });
  return one + doubled;
});
worker.on(`waits-${age}`, () => new Promise(() => {}));
// Nobody works on a part of what it has requested or works on.
const helper = connect({ url, key: process.env.HELPER_KEY })
  .worker()
  .on(`double-${age}`, (task) => task.input * 2);
const running = Promise.all([worker.run(), helper.run()]);

const { cursor } = await requester.api.readEvents({ limit: 1 });
const handle = requester.request(`steps-${age}`);
assert.equal(await handle.result({ onQuestion: () => 20, timeout: '30s' }), 41);
assert.deepEqual(ran, ['one']);
assert.equal(new TextDecoder().decode(await handle.artifact('notes.txt')), 'Grüße');

const batch = requester.batch([1, 2, 3].map((input) => ({ capability: `double-${age}`, input })));
assert.deepEqual(
  (await batch.results()).map(({ value }) => value),
  [2, 4, 6],
);

const waiting = requester.request(`waits-${age}`);
while ((await waiting.status()).state !== 'claimed') await new Promise((resolve) => setTimeout(resolve, 20));
await waiting.cancel();
await assert.rejects(waiting.result(), (error) => error instanceof TaskFailed && error.status === 'cancelled');
await aborted;

const stop = new AbortController();
for await (const { type } of requester.events({ after: cursor, signal: stop.signal })) {
  assert.ok(type);
  break;
}
await Promise.all([worker.stop(), helper.stop()]);
await running;
console.log(process.version);
