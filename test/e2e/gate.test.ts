import assert from 'node:assert/strict';
import { generateKeyPairSync, type KeyObject, randomUUID, sign } from 'node:crypto';
import { describe, it } from 'node:test';
import { toCanonicalJson } from '../../shared/kernel/json/fingerprint.ts';
import { assertRefused } from '../http/refusal.ts';
import { about, callerWith, type Reply, type TestAgent, taskRequest } from '../support/api.ts';
import { called, callMessage, enqueued, groundAgent, madeCard, toolReport, Worker } from '../support/ground.ts';
import { messageRouting, mrMessage } from '../support/message-routing.ts';
import { taskFormat, tfRequest } from '../support/task-format.ts';
import { deployment } from './deployment.ts';

const parley = await deployment();
const { agent, admin, transport } = parley;

interface WayIn {
  name: string;
  path: string;
  body: object;
  /** As how many messages it counts. */
  messages: number;
}

/** Every way in for the agent, each with something that it may send. */
const waysIn = async (sender: TestAgent, worker: TestAgent): Promise<WayIn[]> => {
  const task = (): object => tfRequest({ routing: { target: worker.id } });
  const node = () => ({ taskId: randomUUID(), agent: worker.id, capability: 'parse_recipe' });
  const card = await madeCard(admin, 'agent.thought', { run: randomUUID() });
  const { box_id } = (await admin.call('POST', '/v1/boxes', { kind: 'output', agent_id: sender.id, cards: [] })).body;
  return [
    { name: 'a message', path: '/v1/messages', body: taskRequest(sender.id, { to: worker.id }), messages: 1 },
    { name: 'a task', path: '/v1/tasks', body: task(), messages: 1 },
    { name: 'a batch', path: '/v1/batches', body: { tasks: [task(), task(), task()] }, messages: 3 },
    { name: 'a graph', path: '/v1/graphs', body: { graphId: randomUUID(), nodes: [node(), node()] }, messages: 2 },
    { name: 'a turn', path: '/v1/turns', body: called(worker.id), messages: 1 },
    { name: 'a card', path: '/v1/cards', body: { type: 'agent.thought', content: randomUUID() }, messages: 1 },
    { name: 'a box', path: '/v1/boxes', body: { kind: 'context', cards: [card] }, messages: 1 },
    { name: 'an append', path: `/v1/boxes/${box_id}/append`, body: { cards: [card] }, messages: 1 },
  ];
};

const post = (caller: TestAgent, { path, body }: WayIn, headers: Record<string, string> = {}): Promise<Reply> =>
  caller.call('POST', path, body, headers);

const isTaken = ({ status }: Reply): boolean => [200, 201, 202].includes(status);

/** The signature of a call, as the documentation has it. */
const signedHeaders = (key: KeyObject, path: string, body: object, ms = 0): Record<string, string> => {
  const timestamp = new Date(Date.now() + ms).toISOString();
  const text = toCanonicalJson({ call: `POST ${path}`, timestamp, body: JSON.parse(JSON.stringify(body)) });
  return { 'parley-timestamp': timestamp, 'parley-signature': sign(null, Buffer.from(text), key).toString('base64') };
};

const signer = async (registration: object = {}) => {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const key = publicKey.export({ format: 'der', type: 'spki' }).toString('base64');
  const known = await agent('signer', { ...taskFormat, publicKey: key, signing: 'enforce', ...registration });
  return { known, privateKey };
};

describe('an agent that must sign', { concurrency: 2 }, () => {
  it('signs the reports that it sends with a claim by the claim', async () => {
    const { known, privateKey } = await signer({ dialect: 'round-table', capabilities: [] });
    const asker = await agent('asker', taskFormat);
    const id = await asker.request({ to: known.id });
    assert.equal((await known.claim({ wait: 20 })).length, 1);
    const payload = { status: 'completed', result: { format: 'markdown', content: 'done' } };
    const body = { messages: [about('task.result', known.id, id, payload)] };
    const { results } = (await known.call('POST', '/v1/claims', body)).body;
    assert.equal(results[0].body.code, 'bad_signature');
    const headers = signedHeaders(privateKey, '/v1/claims', body);
    const done = await known.call('POST', '/v1/claims', body, headers);
    assert.equal(done.body.results[0].status, 202, JSON.stringify(done.body));
  });

  it('has its message sent to nobody else than it signed', async () => {
    const { known, privateKey } = await signer({ dialect: 'round-table', role: 'coordinator' });
    const worker = await agent('worker', {});
    const message = taskRequest(known.id, { to: worker.id });
    const headers = signedHeaders(privateKey, '/v1/messages', message);
    const toAll = await known.call('POST', '/v1/messages', message, { ...headers, 'parley-broadcast': 'all' });
    assertRefused(toAll, 403, 'bad_signature');
    assert.equal((await known.call('POST', '/v1/messages', message, headers)).status, 202);
  });

  it('is refused all that is unsigned, whichever way it comes, and believed where the call is signed', async () => {
    const { known, privateKey } = await signer();
    const worker = await agent('worker', taskFormat);
    for (const way of await waysIn(known, worker)) {
      const { name, path, body } = way;
      assertRefused(await post(known, way), 403, 'bad_signature');
      const forged = signedHeaders(privateKey, path, { ...body, other: 1 });
      assertRefused(await post(known, way, forged), 403, 'bad_signature');
      assertRefused(await post(known, way, signedHeaders(privateKey, path, body, -61_000)), 403, 'bad_signature');
      assertRefused(await post(known, way, signedHeaders(privateKey, '/v1/other', body)), 403, 'bad_signature');
      const reply = await post(known, way, signedHeaders(privateKey, path, body));
      assert.ok(isTaken(reply), `${name}: ${JSON.stringify(reply.body)}`);
    }
    assert.equal((await worker.claim({ max: 10, wait: 5 })).length > 0, true);
  });

  it('is refused what an admin key, or the relay, brings unsigned in its name', async () => {
    const { known } = await signer({ transport: 'nats' });
    const worker = await agent('worker', taskFormat);
    const task = tfRequest({ routing: { source: known.id, target: worker.id } });
    assertRefused(await admin.call('POST', '/v1/messages', task), 403, 'bad_signature');
    assertRefused(await admin.call('POST', `/v1/batches?agent=${known.id}`, { tasks: [task] }), 403, 'bad_signature');
    const relay = callerWith(transport, (await admin.call('POST', '/v1/relay/key')).body.key);
    const envelopes = [{ subject: `parley.default.${known.id}`, headers: {} }];
    const { results } = (await relay.call('POST', '/v1/messages', { messages: [task], envelopes })).body;
    assert.equal(results[0].body.code, 'bad_signature');
  });

  it('signs what it does to its turns, and what its tools report', async () => {
    const { known, privateKey } = await signer({ dialect: 'common-ground', capabilities: [] });
    await enqueued(admin, known.id);
    const held = await new Worker(known).take();
    const path = `/v1/turns/${held.agent_turn_id}`;
    const say = (verb: string, body: object, headers = {}) => known.call('POST', `${path}/${verb}`, body, headers);
    const { turn_epoch } = held;
    assertRefused(await say('start', { turn_epoch }), 403, 'bad_signature');
    const other = signedHeaders(privateKey, '/v1/turns/turn_other/start', { turn_epoch });
    assertRefused(await say('start', { turn_epoch }, other), 403, 'bad_signature');
    const started = await say('start', { turn_epoch }, signedHeaders(privateKey, `${path}/start`, { turn_epoch }));
    assert.equal(started.status, 200, JSON.stringify(started.body));
    const report = await toolReport(admin, known.id, held, 'c1');
    assertRefused(await say('reports', report), 403, 'bad_signature');
  });
});

describe('an agent with a limit of messages', { concurrency: 2 }, () => {
  it('has as many whichever way they come, each counted once', async () => {
    const worker = await agent('worker', taskFormat);
    const sender = await agent('sender', { ...taskFormat, limits: { messagesPerMinute: 11 } });
    const ways = await waysIn(sender, worker);
    assert.equal(
      ways.reduce((sum, { messages }) => sum + messages, 0),
      11,
    );
    await startOfMinute();
    for (const way of ways) {
      const reply = await post(sender, way);
      assert.ok(isTaken(reply), `${way.name}: ${JSON.stringify(reply.body)}`);
    }
    for (const way of await waysIn(sender, worker)) {
      const reply = await post(sender, way);
      assertRefused(reply, 429, 'rate_limited');
      const wait = Number(reply.headers['retry-after']);
      assert.ok(wait >= 1 && wait <= 60, `${way.name}: ${wait}`);
    }
  });

  it('gives a batch that is beyond it nothing, and no other batch less', async () => {
    const worker = await agent('worker', taskFormat);
    const sender = await agent('sender', { ...taskFormat, limits: { messagesPerMinute: 5 } });
    const batch = (tasks: number) => ({
      batchId: randomUUID(),
      tasks: Array.from({ length: tasks }, () => tfRequest({ routing: { target: worker.id } })),
    });
    await startOfMinute();
    const send = (body: object) => sender.call('POST', '/v1/batches', body);
    const never = await send(batch(6));
    assertRefused(never, 429, 'rate_limited');
    assert.deepEqual([never.body.retryable, never.headers['retry-after']], [false, undefined]);
    assert.equal((await send(batch(3))).status, 202);
    const refused = batch(3);
    const later = await send(refused);
    assertRefused(later, 429, 'rate_limited');
    assert.equal(later.body.retryable, true);
    assert.equal((await sender.call('GET', `/v1/batches/${refused.batchId}`)).status, 404);
    for (const { id } of refused.tasks) assert.equal((await sender.call('GET', `/v1/tasks/${id}`)).status, 404);
    assert.equal((await send(batch(2))).status, 202);
  });

  it('has its messages of Message Routing and CommonGround counted alike', async () => {
    const reader = await agent('reader', messageRouting);
    const limits = { messagesPerMinute: 2 };
    const router = await agent('router', { ...messageRouting, limits });
    const merlin = await groundAgent(parley, 'merlin', { limits });
    await startOfMinute();
    const sends = [
      () => router.send(mrMessage('status-update', router.id, reader.id)),
      () => merlin.send(callMessage(merlin.id)),
    ];
    for (const send of sends) {
      assert.ok(isTaken(await send()));
      assert.ok(isTaken(await send()));
      assertRefused(await send(), 429, 'rate_limited');
    }
    const batch = { tasks: [mrMessage('task-delegation', router.id, reader.id)] };
    assertRefused(await router.call('POST', '/v1/batches', batch), 429, 'rate_limited');
  });
});

describe('what is too large', () => {
  it('is too large whichever way it comes', async () => {
    const [sender, worker] = [await agent('sender', taskFormat), await agent('worker', taskFormat)];
    const large = 'x'.repeat(1024 * 1024 + 1);
    const task = tfRequest({ routing: { target: worker.id }, payload: { large } });
    const calls: [string, object][] = [
      ['/v1/messages', task],
      ['/v1/tasks', task],
      ['/v1/batches', { tasks: [task] }],
      ['/v1/turns', called(worker.id, { payload: { large: large.slice(0, 65_536) } })],
      ['/v1/cards', { type: 'agent.thought', content: large + large }],
    ];
    for (const [path, body] of calls) {
      const reply = await sender.call('POST', path, body);
      assert.equal(`${path} ${reply.status} ${reply.body.code}`, `${path} 413 too_large`);
    }
  });
});

/** A minute is counted from its start: what a test counts must not lie on both sides of it. */
const startOfMinute = async (): Promise<void> => {
  const left = 60_000 - (Date.now() % 60_000);
  if (left < 15_000) await new Promise((resolve) => setTimeout(resolve, left + 50));
};
