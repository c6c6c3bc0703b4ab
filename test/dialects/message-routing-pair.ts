import assert from 'node:assert/strict';
import { messageRouting, mrMessage, type Wire } from '../support/message-routing.ts';
import { testParley } from '../support/test-parley.ts';

export const start = async (t: Parameters<typeof testParley>[0]) => {
  const parley = await testParley(t);
  const coordinator = await parley.agent('coordinator-main', {
    ...messageRouting,
    role: 'coordinator',
    inbox: 'ends',
  });
  const coder = await parley.agent('coder-1', messageRouting);
  const delegate = async (overrides: Record<string, unknown> = {}): Promise<Wire> => {
    const message = mrMessage('task-delegation', 'coordinator-main', 'coder-1', overrides);
    const { status, body } = await coordinator.send(message);
    assert.equal(status, 202, JSON.stringify(body));
    assert.equal(body.id, message.msg_id);
    return { ...message, taskId: body.taskId };
  };
  const say = async (type: string, overrides: Record<string, unknown> = {}): Promise<Wire> => {
    const message = mrMessage(type, 'coder-1', 'coordinator-main', overrides);
    const { status, body } = await coder.send(message);
    assert.equal(status, 202, JSON.stringify(body));
    return { ...message, taskId: body.taskId };
  };
  return { parley, coordinator, coder, delegate, say };
};

/** The message without the task id of its response. */
export const wire = ({ taskId: _taskId, ...message }: Wire): Wire => message;
