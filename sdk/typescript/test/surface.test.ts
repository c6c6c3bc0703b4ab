import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { connect, Fail, TaskFailed } from '../src/index.ts';
import { address, adminKey, agent, connectAgent, connectPair, run } from './agents.ts';
import { createFaultyFetch } from './faulty-fetch.ts';

const adminClient = connect({ url: address, key: adminKey });

describe('the TypeScript SDK', () => {
  it('settles each task of a batch, in their order, and finds the batch again', async () => {
    const { capability, requester, worker } = await connectPair();
    worker.on<number>(capability, ({ input }) => {
      if (input === 2) throw new Fail('odd_one', 'Not this one.');
      return input * 10;
    });
    run(worker);
    const batch = requester.batch<number>([1, 2, 3].map((input) => ({ capability, input })));
    const settled = await batch.results();
    assert.deepEqual(
      settled.map((one) => (one.status === 'fulfilled' ? one.value : one.reason.code)),
      [10, 'odd_one', 30],
    );
    assert.equal((await requester.findBatch(batch.id).status()).status, 'partial');
  });

  it('gives the nodes of a graph the results of those before, by their names', async () => {
    const { capability, requester, worker } = await connectPair();
    worker.on<{ n?: number }>(capability, ({ input }, { dependencies }) =>
      input.n === undefined ? (dependencies as Record<string, number>) : input.n,
    );
    run(worker);
    const graph = requester.graph({
      one: { capability, input: { n: 1 } },
      two: { capability, input: { n: 2 } },
      both: { capability, after: ['one', 'two'], priority: 'critical' },
    });
    assert.deepEqual(await graph.results(), { one: 1, two: 2, both: { one: 1, two: 2 } });
    assert.equal((await requester.findGraph(graph.id).status()).status, 'completed');
  });

  it('says of a graph which node failed', async () => {
    const { capability, requester, worker } = await connectPair();
    worker.on(capability, () => {
      throw new Fail('no_luck', 'It cannot be done.');
    });
    run(worker);
    await assert.rejects(
      requester.graph({ only: { capability } }).results(),
      (error) => error instanceof TaskFailed && error.code === 'no_luck',
    );
  });

  it('gets every result in a while, though more are waited for than calls may wait', async () => {
    const { fetch, effects } = createFaultyFetch();
    const { capability, worker } = await connectPair();
    const nobodys = (await connectPair()).capability;
    run(worker.on(capability, () => 1));
    const requester = await connectAgent([], { fetch });
    const stop = new AbortController();
    for (let index = 0; index < 110; index++) {
      requester
        .request(nobodys)
        .result({ signal: stop.signal })
        .catch(() => {});
    }
    const handles = Array.from({ length: 30 }, () => requester.request<number>(capability));
    const results = await Promise.all(handles.map((handle) => handle.result()));
    stop.abort();
    assert.equal(results.length, 30);
    assert.deepEqual(
      effects.filter((effect) => effect.endsWith('429')),
      [],
    );
  });

  it('brings artifacts with a result, text and bytes', async () => {
    const { capability, requester, worker } = await connectPair();
    const bytes = Uint8Array.from({ length: 100_000 }, (_, index) => index % 256);
    worker.on(capability, (_, ctx) => {
      ctx.attach({ name: 'notes.txt', type: 'text/plain', content: 'Grüße' });
      ctx.attach({ name: 'data.bin', type: 'application/octet-stream', content: bytes });
      ctx.setConfidence(0.9);
    });
    run(worker);
    const handle = requester.request(capability);
    await handle.result();
    assert.deepEqual((await handle.artifacts()).map(({ name, type }) => [name, type]).toSorted(), [
      ['data.bin', 'application/octet-stream'],
      ['notes.txt', 'text/plain'],
    ]);
    assert.deepEqual(await handle.artifact('data.bin'), bytes);
    assert.equal(new TextDecoder().decode(await handle.artifact('notes.txt')), 'Grüße');
  });

  it('sends direct messages and broadcasts, which arrive in inboxes', async () => {
    const capability = `audience-${crypto.randomUUID()}`;
    const { id, key } = await agent('hears', { dialect: 'native', capabilities: [capability] });
    const hearer = connect({ url: address, key });
    const speaker = await agent('speaks', { dialect: 'native', role: 'coordinator' });
    const parley = connect({ url: address, key: speaker.key });
    await parley.send(id, { hello: 1 });
    await parley.broadcast(`capability:${capability}`, { hello: 2 });
    const heard: unknown[] = [];
    for await (const { kind, content } of hearer.inbox()) {
      if (kind === 'message') heard.push(content);
      if (heard.length === 2) break;
    }
    assert.deepEqual(heard, [{ hello: 1 }, { hello: 2 }]);
  });

  it('iterates over events as they happen', async () => {
    const { capability, requester, worker } = await connectPair();
    const first = requester.request(capability);
    await first.accepted;
    const { cursor } = await requester.api.readEvents({ limit: 1 });
    run(worker.on(capability, () => 1));
    const completed: unknown[] = [];
    for await (const { data } of requester.events({ types: ['task.completed'], after: cursor })) {
      completed.push(data.taskId);
      if (completed.length === 2) break;
      requester.request(capability, {}, { id: `${first.id}-2` });
    }
    assert.deepEqual(completed, [first.id, `${first.id}-2`]);
  });

  it('makes every other call by its name in /openapi.json', async () => {
    const { id } = await agent('named', { dialect: 'native', capabilities: ['naming'] });
    const { agents } = await adminClient.api.listAgents({ limit: 5 });
    assert.ok(agents.length > 0);
    assert.deepEqual((await adminClient.api.getAgent({ id })).capabilities, ['naming']);
    assert.equal(await adminClient.api.removeAgent({ id }), undefined);
    assert.match(await adminClient.api.getMetrics(), /^# HELP/m);
    const parley = await connectAgent();
    const { card_id } = await parley.api.createCard({ body: { type: 'note.text', content: { a: 1 } } });
    assert.deepEqual((await parley.api.getCard({ id: card_id })).content, { a: 1 });
  });
});
