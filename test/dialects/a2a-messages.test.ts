import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it, type TestContext } from 'node:test';
import { assertRefused, settled } from '../http/refusal.ts';
import type { Wire } from '../support/speakers.ts';
import { testParley } from '../support/test-parley.ts';

const scene = async (t: TestContext) => {
  const parley = await testParley(t);
  const client = await parley.agent('client', { dialect: 'a2a' });
  const worker = await parley.agent('worker', { dialect: 'a2a', capabilities: ['summarize'] });
  const request = (message: object = {}, rest: object = {}) => ({
    message: { messageId: randomUUID(), role: 'ROLE_USER', parts: [{ text: 'Tides.' }], ...message },
    metadata: { parley: { capability: 'summarize' } },
    ...rest,
  });
  const ask = async (message?: object, rest?: object): Promise<string> => {
    const { status, body } = await client.send(request(message, rest));
    assert.equal(status, 202, JSON.stringify(body));
    return body.taskId;
  };
  const claim = async (): Promise<Wire> => (await worker.claim())[0]?.message;
  const say = async (message: object) => {
    const { status, body } = await worker.send(message);
    assert.equal(status, 202, JSON.stringify(body));
    await settled(parley);
  };
  return { parley, client, worker, request, ask, claim, say };
};

const status = (state: string, ...parts: object[]) => ({
  state: `TASK_STATE_${state}`,
  ...(parts.length > 0 && { message: { role: 'ROLE_AGENT', parts } }),
});

describe('A message of A2A', () => {
  it('reaches its worker with the parts, the metadata and the references that its client gave it', async (t) => {
    const { ask, claim } = await scene(t);
    const parts = [
      { text: 'Compare these.', metadata: { lang: 'en' } },
      { raw: 'aGFsbG8=', mediaType: 'image/png', filename: 'a.png' },
      { url: 'https://example.com/b.png' },
      { data: [1, { two: null }] },
    ];
    const given = { extensions: ['https://example.com/ext'], referenceTaskIds: ['t-1'], metadata: { own: 1 } };
    const id = await ask(
      { parts, contextId: 'talk-1', ...given },
      {
        configuration: { acceptedOutputModes: ['text/plain'] },
        metadata: { parley: { capability: 'summarize' }, trip: 'x' },
      },
    );
    const { message, configuration, metadata } = await claim();
    assert.deepEqual(
      { ...message, metadata: { own: message.metadata.own } },
      { messageId: id, taskId: id, contextId: 'talk-1', role: 'ROLE_USER', parts, ...given },
    );
    assert.deepEqual([configuration, metadata], [{ acceptedOutputModes: ['text/plain'] }, { trip: 'x' }]);
  });

  it('asks its requester for a credential, which reads as that', async (t) => {
    const { client, ask, claim, say } = await scene(t);
    const taskId = await ask();
    await claim();
    await say({
      statusUpdate: { taskId, status: status('AUTH_REQUIRED', { text: 'Sign in.' }, { data: { at: 'https://idp' } }) },
    });
    const [question] = await client.inbox();
    assert.deepEqual(question.statusUpdate.status.state, 'TASK_STATE_AUTH_REQUIRED');
    assert.deepEqual(question.statusUpdate.status.message.parts, [
      { text: 'Sign in.' },
      { data: { at: 'https://idp' } },
    ]);
  });

  it('collects the artifacts of all updates, and takes the last words as output where no artifact is the result', async (t) => {
    const { client, ask, claim, say } = await scene(t);
    const taskId = await ask();
    await claim();
    const artifact = (artifactId: string, ...parts: object[]) => ({
      artifactUpdate: { taskId, artifact: { artifactId, parts } },
    });
    await say(artifact('a.txt', { text: 'first' }));
    await say(artifact('b', { text: 'one' }, { data: 2 }));
    await say(artifact('a.txt', { text: 'second' }));
    await say({ statusUpdate: { taskId, status: status('COMPLETED', { text: 'Done.' }) } });
    const [{ task }] = await client.inbox();
    const byId = Object.fromEntries(task.artifacts.map(({ artifactId, parts }: Wire) => [artifactId, parts]));
    assert.deepEqual(byId, {
      result: [{ text: 'Done.' }],
      'a.txt': [{ text: 'second', mediaType: 'text/plain' }],
      b: [{ text: 'one' }, { data: 2 }],
    });
  });

  it('that rejects a task hands it to another provider, and ends it as rejected if there is none', async (t) => {
    const { parley, client, ask, claim, say } = await scene(t);
    const other = await parley.agent('other', { dialect: 'native', capabilities: ['summarize'] });
    const taskId = await ask();
    await claim();
    await say({ statusUpdate: { taskId, status: status('REJECTED', { text: 'Not my kind.' }) } });
    assert.equal((await other.claim()).length, 1);
    await other.send({ kind: 'failure', taskId, code: 'skill_missing', message: 'Nor mine.' });
    await settled(parley);
    const [{ task }] = await client.inbox();
    assert.equal(task.status.state, 'TASK_STATE_REJECTED');
  });

  it('is refused whole, with every mistake, and nothing is changed', async (t) => {
    const { client, worker, request } = await scene(t);
    const bad: [object, string][] = [
      [request({ parts: [] }), 'message.parts'],
      [request({ parts: [{ text: 'a', data: 1 }] }), 'message.parts[0]'],
      [request({ parts: [{}] }), 'message.parts[0]'],
      [request({ role: 'user' }), 'message.role'],
      [request({}, { metadata: {} }), 'message.metadata.parley'],
      [request({}, { metadata: { parley: { capability: 'summarize', priority: 'now' } } }), 'priority'],
      [request({ role: 'ROLE_AGENT' }), 'message.metadata.parley.to'],
      [{ statusUpdate: { taskId: 'a', status: { state: 'TASK_STATE_SLEEPING' } } }, 'statusUpdate.status.state'],
      [
        { task: { id: 'a', status: status('WORKING'), artifacts: [{ artifactId: 'x', parts: [] }] } },
        'task.artifacts[0].parts',
      ],
    ];
    for (const [message, path] of bad) {
      const reply = await client.send(message);
      assertRefused(reply, 400, 'invalid_message');
      assert.deepEqual(
        reply.body.issues.map((issue: { path: string }) => issue.path),
        [path],
      );
    }
    assert.deepEqual(await worker.claim(), []);
  });
});
