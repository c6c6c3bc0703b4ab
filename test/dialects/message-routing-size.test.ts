import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import config from '../../parley.config.ts';
import { assertRefused } from '../http/refusal.ts';
import { messageRouting, mrMessage } from '../support/message-routing.ts';
import { testParley } from '../support/test-parley.ts';

const start = async (t: Parameters<typeof testParley>[0], messageBytes?: number) => {
  const dialects = {
    ...config.dialects,
    'message-routing': { ...config.dialects['message-routing'], ...(messageBytes !== undefined && { messageBytes }) },
  };
  const parley = await testParley(t, { config: { dialects } });
  const lead = await parley.agent('lead', { ...messageRouting, inbox: 'ends' });
  const coder = await parley.agent('coder', messageRouting);
  return { parley, lead, coder };
};

const LARGE = { task: 'x'.repeat(200_000) };

describe('the size of Message Routing messages', () => {
  it('is limited to 10 KB where the configuration says nothing else', async (t) => {
    const { lead } = await start(t);
    assertRefused(await lead.send(mrMessage('task-delegation', 'lead', 'coder', { payload: LARGE })), 413, 'too_large');
  });

  for (const profile of [undefined, 'cfn']) {
    it(`is a setting, and what is accepted is given to its readers whole${profile ? `, as ${profile} too` : ''}`, async (t) => {
      const { parley, lead, coder } = await start(t, 400_000);
      for (const id of ['lead', 'coder'])
        await parley.admin.call('PUT', `/v1/agents/${id}`, { ...messageRouting, profile, inbox: 'ends' });
      const task = mrMessage('task-delegation', 'lead', 'coder', { payload: LARGE });
      assert.equal((await lead.send(task)).status, 202);
      const [{ message }] = await coder.claim();
      assert.deepEqual(message.payload, LARGE);
      const payload = { status: 'success', issues: ['y'.repeat(300_000)] };
      const result = mrMessage('result', 'coder', 'lead', { correlation_id: task.msg_id, payload });
      assert.equal((await coder.send(result)).status, 202);
      const update = mrMessage('status-update', 'coder', 'lead', {
        payload: { status: 'in_progress', message: 'z'.repeat(50_000) },
      });
      assert.equal((await coder.send(update)).status, 202);
      assert.deepEqual(
        new Set((await lead.inbox()).map(({ payload: read }) => JSON.stringify(read).length)),
        new Set([JSON.stringify(payload).length, JSON.stringify(update.payload).length]),
      );
      assertRefused(
        await lead.send(mrMessage('task-delegation', 'lead', 'coder', { payload: { task: 'x'.repeat(400_000) } })),
        413,
        'too_large',
      );
    });
  }

  it('stays that of the document for what comes from other protocols', async (t) => {
    const { parley, lead } = await start(t, 400_000);
    const cook = await parley.agent('cook', { dialect: 'task-format' });
    assert.equal((await lead.send(mrMessage('task-delegation', 'lead', 'cook'))).status, 202);
    const [{ message }] = await cook.claim();
    const content = 'x'.repeat(20_000);
    assert.equal((await cook.send({ id: message.id, status: 'completed', result: { content } })).status, 202);
    const [{ payload }] = await lead.inbox();
    assert.match(payload.parley.output.uri, /^\/v1\/cards\//);
  });
});
