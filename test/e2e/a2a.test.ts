import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { type StreamResponse, type Task, TaskPushNotificationConfig, TaskState } from '@a2a-js/sdk';
import type { Client } from '@a2a-js/sdk/client';
import { a2aClient, a2aMessage, taskOf } from '../support/a2a-client.ts';
import type { TestAgent } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { deployment } from './deployment.ts';

const { address, agent } = await deployment();

const scene = async (binding: 'JSONRPC' | 'HTTP+JSON') => {
  const asker = await agent('asker', { dialect: 'a2a' });
  const worker = await agent('worker');
  const client = await a2aClient(address, asker, worker.id, binding);
  return { asker, worker, client };
};

const claim = async (worker: TestAgent): Promise<string> => {
  const [task] = await worker.claim({ wait: 20 });
  return task.message.id;
};

const now = { configuration: { returnImmediately: true } };

const begin = async (client: Client, message: object = {}): Promise<Task> =>
  taskOf(await client.sendMessage(a2aMessage(message, now)));

const collect = async (
  stream: AsyncIterable<StreamResponse>,
  into: StreamResponse[] = [],
): Promise<StreamResponse[]> => {
  for await (const piece of stream) into.push(piece);
  return into;
};

const textOf = (task: Pick<Task, 'status'>): string | undefined => {
  const content = task.status?.message?.parts[0]?.content;
  return content?.$case === 'text' ? content.value : undefined;
};

const finish = async (worker: TestAgent, id: string): Promise<void> => {
  await worker.progress(id, { percent: 10, message: 'Begun.' });
  await worker.complete(id, { format: 'text', content: 'Done.' });
};

for (const binding of ['JSONRPC', 'HTTP+JSON'] as const) {
  describe(`the official A2A client, over ${binding}`, { concurrency: true }, () => {
    it('gives work to an agent of another dialect, and waits for its result', async () => {
      const { client, worker } = await scene(binding);
      const answered = client.sendMessage(a2aMessage());
      await worker.complete(await claim(worker), { format: 'markdown', content: 'Two a day.' });
      const task = taskOf(await answered);
      assert.equal(task.status?.state, TaskState.TASK_STATE_COMPLETED);
      const [result] = task.artifacts;
      assert.equal(result?.artifactId, 'result');
      assert.deepEqual(result?.parts[0]?.content, {
        $case: 'data',
        value: { format: 'markdown', content: 'Two a day.' },
      });
      const [asked] = task.history;
      assert.deepEqual(asked?.parts[0]?.content, { $case: 'text', value: 'Tides.' });
      assert.equal(asked?.taskId, task.id);
      assert.equal(task.contextId, asked?.contextId);
    });

    it('is answered at once if it wants so, and then reads the task', async () => {
      const { client, worker } = await scene(binding);
      const { id, status } = await begin(client);
      assert.equal(status?.state, TaskState.TASK_STATE_SUBMITTED);
      await claim(worker);
      await worker.progress(id, { percent: 40, message: 'Half of it.' });
      await eventually(async () => {
        const { status: working, history } = await client.getTask({ tenant: '', id });
        assert.equal(working?.state, TaskState.TASK_STATE_WORKING);
        assert.equal(textOf({ status: working }), 'Half of it.');
        assert.equal(history.length, 2);
      });
      const short = await client.getTask({ tenant: '', id, historyLength: 0 });
      assert.deepEqual(short.history, []);
      await worker.complete(id);
    });

    it('gets the same task for the same first message, and an error for another one under its id', async () => {
      const { client, worker } = await scene(binding);
      const messageId = randomUUID();
      const first = await begin(client, { messageId });
      const again = await begin(client, { messageId });
      assert.equal(again.id, first.id);
      await assert.rejects(begin(client, { messageId, parts: [{ text: 'Something else.' }] }), /id/);
      assert.equal(await claim(worker), first.id);
      assert.deepEqual(await worker.claim(), []);
      await worker.complete(first.id);
    });

    it('answers a question with a message to the task, once', async () => {
      const { asker, client } = await scene(binding);
      const helper = await agent('helper', { dialect: 'a2a' });
      const toHelper = await a2aClient(address, asker, helper.id, binding);
      const waiting = toHelper.sendMessage(a2aMessage());
      const [claimed] = await helper.claim({ wait: 20 });
      const { taskId, contextId } = claimed.message.message;
      const said = (state: string, text: string) =>
        helper.send({
          statusUpdate: { taskId, status: { state, message: { role: 'ROLE_AGENT', parts: [{ text }] } } },
        });
      await said('TASK_STATE_INPUT_REQUIRED', 'Which ocean?');
      const asked = taskOf(await waiting);
      assert.equal(asked.status?.state, TaskState.TASK_STATE_INPUT_REQUIRED);
      assert.equal(textOf(asked), 'Which ocean?');
      await assert.rejects(toHelper.sendMessage(a2aMessage({ taskId, contextId: 'another' })), /context/);
      await assert.rejects(client.getTask({ tenant: '', id: taskId }), /There is no task/);
      const answer = a2aMessage({ taskId, contextId, parts: [{ text: 'The Atlantic.' }] }, now);
      assert.equal(taskOf(await toHelper.sendMessage(answer)).status?.state, TaskState.TASK_STATE_WORKING);
      assert.equal(taskOf(await toHelper.sendMessage(answer)).status?.state, TaskState.TASK_STATE_WORKING);
      await assert.rejects(toHelper.sendMessage(a2aMessage({ taskId })), /takes no message/);
      await said('TASK_STATE_COMPLETED', 'Two a day.');
      const done = await eventually(async () => {
        const task = await toHelper.getTask({ tenant: '', id: taskId });
        assert.equal(task.status?.state, TaskState.TASK_STATE_COMPLETED);
        return task;
      });
      const spoken = done.history.map(({ parts: [part] }) => part?.content?.value);
      assert.deepEqual(spoken, ['Tides.', 'Which ocean?', 'The Atlantic.']);
      assert.equal(taskOf(await toHelper.sendMessage(answer)).status?.state, TaskState.TASK_STATE_COMPLETED);
      await assert.rejects(toHelper.sendMessage(a2aMessage({ taskId })), /takes no message/);
    });

    it('gives large work and takes large results', async () => {
      const { client, worker } = await scene(binding);
      const large = 'The tide comes in. '.repeat(1000);
      const answered = client.sendMessage(a2aMessage({ parts: [{ text: large }] }));
      const [claimed] = await worker.claim({ wait: 20 });
      assert.ok(JSON.stringify(claimed).includes(large));
      await worker.complete(claimed.message.id, { format: 'text', content: large });
      const { artifacts, history } = taskOf(await answered);
      assert.deepEqual(artifacts[0]?.parts[0]?.content?.value, { format: 'text', content: large });
      assert.equal(history[0]?.parts[0]?.content?.value, large);
    });

    it('configures push notifications, reads them without their secrets, and deletes them', async () => {
      const { client } = await scene(binding);
      const { id: taskId } = await begin(client);
      // Nobody has this name.
      const config = { url: 'https://receiver.invalid/push', token: 'a-token', id: 'mine' };
      const request = TaskPushNotificationConfig.fromJSON({ ...config, taskId });
      const made = await client.createTaskPushNotificationConfig(request);
      assert.deepEqual([made.id, made.url, made.token], ['mine', config.url, '']);
      const named = { tenant: '', taskId, id: 'mine' };
      assert.equal((await client.getTaskPushNotificationConfig(named)).url, config.url);
      const listed = { tenant: '', taskId, pageSize: 0, pageToken: '' };
      assert.equal((await client.listTaskPushNotificationConfig(listed)).configs.length, 1);
      for (let i = 0; i < 2; i++) await client.deleteTaskPushNotificationConfig(named);
      assert.deepEqual((await client.listTaskPushNotificationConfig(listed)).configs, []);
      await client.cancelTask({ tenant: '', id: taskId, metadata: undefined });
    });

    it('finds a failed task unchanged after its retry, which is another task', async () => {
      const { asker, client, worker } = await scene(binding);
      const { id, contextId } = await begin(client);
      await claim(worker);
      await worker.fail(id, { error: 'skill_missing', message: 'Not mine.' });
      await eventually(async () => {
        const { status } = await client.getTask({ tenant: '', id });
        assert.equal(status?.state, TaskState.TASK_STATE_REJECTED);
      });
      const { status: accepted, body } = await asker.call('POST', `/v1/tasks/${id}/retry`);
      assert.equal(accepted, 202, JSON.stringify(body));
      assert.notEqual(body.id, id);
      assert.equal(await claim(worker), body.id);
      await worker.complete(body.id);
      const repeated = await client.getTask({ tenant: '', id: body.id });
      assert.deepEqual([repeated.contextId, repeated.history[0]?.referenceTaskIds], [contextId, [id]]);
      const { status } = await client.getTask({ tenant: '', id });
      assert.equal(status?.state, TaskState.TASK_STATE_REJECTED);
    });

    it('gives the gateway work for whoever can do it', async () => {
      const { asker } = await scene(binding);
      const gateway = await a2aClient(address, asker, '@gateway', binding);
      const { id, status } = await begin(gateway, { metadata: { parley: { capability: 'intel.nobody-does-this' } } });
      assert.equal(status?.state, TaskState.TASK_STATE_SUBMITTED);
      assert.equal((await gateway.getTask({ tenant: '', id })).id, id);
      await gateway.cancelTask({ tenant: '', id, metadata: undefined });
    });

    it('cancels a task, again too, and not one that is done', async () => {
      const { client, worker } = await scene(binding);
      const { id } = await begin(client);
      for (let i = 0; i < 2; i++) {
        const { status } = await client.cancelTask({ tenant: '', id, metadata: undefined });
        assert.equal(status?.state, TaskState.TASK_STATE_CANCELED);
      }
      const { id: other } = await begin(client);
      await worker.complete(await claim(worker));
      await assert.rejects(client.cancelTask({ tenant: '', id: other, metadata: undefined }), /has ended/);
      await assert.rejects(client.cancelTask({ tenant: '', id: randomUUID(), metadata: undefined }), /no task/);
    });

    it('lists its tasks by their last change, newest first, page by page', async () => {
      const { client, worker } = await scene(binding);
      const ids: string[] = [];
      for (const contextId of ['one', 'two', 'one']) ids.push((await begin(client, { contextId })).id);
      const listed = async (more: object = {}) => {
        const { tasks, totalSize, nextPageToken } = await client.listTasks(listRequest(more));
        return { ids: tasks.map(({ id }) => id), totalSize, nextPageToken };
      };
      await eventually(async () => assert.deepEqual((await listed()).ids, ids.toReversed()));
      const [first = ''] = ids;
      await claim(worker);
      await worker.progress(first);
      await eventually(async () => assert.equal((await listed()).ids[0], first));
      const page = await listed({ pageSize: 2 });
      assert.deepEqual([page.ids.length, page.totalSize], [2, 3]);
      const rest = await listed({ pageSize: 2, pageToken: page.nextPageToken });
      assert.deepEqual([...page.ids, ...rest.ids].sort(), ids.toSorted());
      assert.deepEqual(
        [(await listed({ contextId: 'one' })).totalSize, (await listed({ contextId: 'two' })).ids],
        [2, [ids[1]]],
      );
      assert.deepEqual((await listed({ status: TaskState.TASK_STATE_WORKING })).ids, [first]);
      await worker.complete(first);
    });

    it('follows a task from its message to its end, and two readers see the same', async () => {
      const { client, worker } = await scene(binding);
      const follow = async (): Promise<{ id: string; all: StreamResponse[]; later: StreamResponse[] }> => {
        const sent = collect(client.sendMessageStream(a2aMessage()));
        const id = await claim(worker);
        const resubscribed = collect(client.resubscribeTask({ tenant: '', id }));
        const [begun] = await Promise.allSettled([resubscribed, finish(worker, id), sent]);
        // A second reader that comes when all is over is told so.
        if (begun.status === 'rejected' && /has ended/.test(String(begun.reason))) return follow();
        return { id, all: await sent, later: await resubscribed };
      };
      const { id, all, later } = await follow();
      const { payload } = all[0] ?? {};
      assert.equal(payload?.$case, 'task');
      const updates = later.slice(1);
      assert.deepEqual(all.slice(-updates.length), updates);
      const last = all.at(-1)?.payload;
      assert.ok(last?.$case === 'statusUpdate');
      assert.equal(last.value.status?.state, TaskState.TASK_STATE_COMPLETED);
      const artifact = all.at(-2)?.payload;
      assert.ok(artifact?.$case === 'artifactUpdate');
      assert.equal(artifact.value.artifact?.artifactId, 'result');
      await assert.rejects(collect(client.resubscribeTask({ tenant: '', id })), /has ended/);
    });
  });
}

const listRequest = (more: object) => ({
  tenant: '',
  contextId: '',
  status: TaskState.TASK_STATE_UNSPECIFIED,
  pageToken: '',
  statusTimestampAfter: undefined,
  ...more,
});
