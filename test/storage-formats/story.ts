import assert from 'node:assert/strict';
import { createBodyReader } from '../../shared/http/read-body.ts';
import { createRouter } from '../../shared/http/router.ts';
import { routes } from '../../shared/http/routes/routes.ts';
import { DEFAULT_KEY } from '../../shared/identity/auth/api-key.ts';
import type { Deps } from '../../shared/identity/deps.ts';
import { rotateApiKey } from '../../shared/registration/manage-keys.ts';
import { type Caller, callerWith, parsed, type Reply, registered, TestAgent, type Transport } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import type { Wire } from '../support/speakers.ts';
import { tfRequest } from '../support/task-format.ts';

export interface Written {
  /** The keys of the agents. */
  keys: Record<string, string>;
  /** What the agents were answered, by `agent path`. */
  answers: Record<string, unknown>;
}

/** Tasks with a history, one that is held, one that waits, one that failed for good, a batch, a graph and unread messages. */
export const writeStory = async (
  transport: Transport,
  admin: Caller,
  settle: () => Promise<void>,
): Promise<Written> => {
  const agent = (id: string, registration: object) => registered(transport, admin, id, registration);
  const tim = await agent('tim', { capabilities: [] });
  const lance = await agent('lance', { capabilities: ['security.briefing'] });
  const chef = await agent('chef', { dialect: 'task-format' });
  const cook = await agent('cook', { dialect: 'task-format', capabilities: ['parse_recipe', 'plan_menu'] });
  const claim = async (worker: TestAgent): Promise<void> => {
    await eventually(async () => assert.equal((await worker.claim({ max: 1 })).length, 1));
  };
  const accept = async (sent: ReturnType<Caller['call']>): Promise<Reply> => {
    const reply = await sent;
    assert.ok(reply.status < 300, JSON.stringify(reply.body));
    return reply;
  };

  const retried = await tim.request();
  await claim(lance);
  await accept(lance.progress(retried, { percent: 10, message: 'reading' }));
  await accept(lance.progress(retried, { percent: 60, message: 'writing' }));
  await accept(lance.fail(retried, { error: 'model_error', message: 'it broke', retryAfterSeconds: 0 }));
  await claim(lance);
  await accept(lance.call('POST', `/v1/tasks/${retried}/release`));
  await claim(lance);
  await accept(lance.complete(retried));

  const failed = await tim.request();
  await claim(lance);
  await accept(lance.fail(failed, { error: 'invalid_params', message: 'no scope', retryable: false }));
  await accept(tim.call('POST', `/v1/tasks/${failed}/retry`));
  await claim(lance);
  await accept(lance.progress(failed, { percent: 30 }));
  await accept(lance.fail(failed, { error: 'invalid_params', message: 'still no scope', retryable: false }));

  const asked = tfRequest();
  await accept(chef.send(asked));
  await claim(cook);
  await accept(cook.send({ id: asked.id, status: 'input_required', input: { prompt: 'How many servings?' } }));
  await accept(chef.call('POST', `/v1/tasks/${asked.id}/input`, { input: { servings: 4 } }));
  await accept(cook.send({ id: asked.id, status: 'input_required', input: { prompt: 'With salt?' } }));
  await accept(chef.call('POST', `/v1/tasks/${asked.id}/input`, { input: true }));
  await accept(cook.send({ id: asked.id, status: 'completed', result: 'for four, with salt' }));

  const held = await tim.request();
  await claim(lance);
  await accept(lance.progress(held, { percent: 20 }));
  const waiting = await tim.request();

  const tasks = { tim: [retried, failed, held, waiting], chef: [asked.id] };
  const agents = [tim, lance, chef, cook];
  const keys = Object.fromEntries(agents.map(({ id, key }) => [id, key]));
  const paths = Object.entries(tasks).flatMap(([id, ids]) => ids.map((task) => `${id} /v1/tasks/${task}`));
  paths.push('tim /v1/inbox', 'chef /v1/inbox', 'cook /v1/inbox', 'tim /v1/dead-letters');
  await settle();
  return { keys, answers: await readAnswers(transport, keys, paths) };
};

/** Data from before keys had a checksum: each agent needs a new key, and has all that it had. */
export const renewKeys = async (
  deps: Deps,
  project: string,
  keys: Record<string, string>,
): Promise<Record<string, string>> => {
  const renew = async (agent: string) =>
    [agent, (await rotateApiKey(deps, project, { agent, name: DEFAULT_KEY }, 0)).key] as const;
  return Object.fromEntries(await Promise.all(Object.keys(keys).map(renew)));
};

/** One more report on the task that is held. */
export const reportMore = async (
  transport: Transport,
  keys: Record<string, string>,
  answers: Record<string, unknown>,
): Promise<void> => {
  const held = Object.values(answers).find((answer) => (answer as Wire).state === 'in_progress') as Wire;
  const reply = await new TestAgent('lance', keys.lance ?? '', transport).progress(held.id, { percent: 70 });
  assert.equal(reply.status, 202, JSON.stringify(reply.body));
};

/** Finishes all that an earlier version left: what is held, what waits, what has failed, and what nobody has read. */
export const workOff = async (
  transport: Transport,
  keys: Record<string, string>,
  answers: Record<string, unknown>,
): Promise<void> => {
  const agent = (id: string) => new TestAgent(id, keys[id] ?? '', transport);
  const [tim, lance] = [agent('tim'), agent('lance')];
  const inState = (wanted: string): string[] =>
    Object.values(answers).flatMap((answer) => ((answer as Wire).state === wanted ? (answer as Wire).id : []));
  const [held, waiting, failed] = [inState('in_progress'), inState('requested'), inState('failed')];
  for (const ids of [held, waiting, failed]) assert.ok(ids.length > 0);
  for (const id of held) assert.equal((await lance.complete(id)).status, 202);
  for (const id of failed) assert.equal((await tim.call('POST', `/v1/tasks/${id}/retry`)).status, 202);
  const claimed = new Set<string>();
  await eventually(async () => {
    for (const { message } of await lance.claim({ max: 10 })) claimed.add(message.id);
    assert.deepEqual(claimed, new Set([...waiting, ...failed]));
  });
  for (const id of claimed) assert.equal((await lance.complete(id)).status, 202);
  for (const id of [...held, ...claimed]) assert.equal((await tim.task(id)).state, 'completed');
  const outcomes = new Set<string>();
  for (const reader of [tim, agent('chef'), agent('cook')]) {
    await eventually(async () => {
      const messages = await reader.inbox();
      for (const { correlationId } of messages) outcomes.add(correlationId);
      const ids = messages.map(({ id }) => id);
      if (ids.length > 0) await reader.call('POST', '/v1/inbox/ack', { ids });
      assert.deepEqual(await reader.inbox(), []);
    });
  }
  for (const id of [...held, ...claimed]) assert.ok(outcomes.has(id), `the outcome of ${id} was in no inbox`);
  assert.deepEqual((await lance.call('GET', '/v1/tasks?status=requested,claimed,in_progress')).body.tasks, []);
};

/** What an answer tells of the data: how it is shown may change from version to version. */
const toFacts = (answer: unknown): unknown => {
  const { id, state, attempt, payload, result, error, history, messages, tasks } = answer as Wire;
  if (id === undefined) return [...(messages ?? []), ...(tasks ?? [])].map((one: Wire) => one.id);
  return { id, state, attempt, payload, result, error: error?.code, history };
};

export const assertSameFacts = (found: Record<string, unknown>, expected: Record<string, unknown>): void => {
  for (const [path, answer] of Object.entries(expected)) assert.deepEqual(toFacts(found[path]), toFacts(answer), path);
};

export const readAnswers = async (
  transport: Transport,
  keys: Record<string, string>,
  paths: string[],
): Promise<Record<string, unknown>> =>
  Object.fromEntries(
    await Promise.all(
      paths.map(async (path) => {
        const [agent = '', target = ''] = path.split(' ');
        const { status, body } = await callerWith(transport, keys[agent]).call('GET', target);
        assert.equal(status, 200, JSON.stringify(body));
        return [path, body];
      }),
    ),
  );

/** The API without a socket. */
export const transportTo = (deps: Deps): Transport => {
  const handle = createRouter(deps, routes);
  return async (method, target, headers, body = '') => {
    const [path = '', query = ''] = target.split('?');
    const readBody = createBodyReader(Buffer.from(body));
    const response = await handle({ method, path, query, headers, readBody });
    const text = typeof response.body === 'string' ? response.body : '';
    return { status: response.status, headers: response.headers, body: parsed(text) };
  };
};
