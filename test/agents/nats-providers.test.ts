import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { taskRef } from '../../shared/model/task.ts';
import { testParley } from '../support/test-parley.ts';

describe('providers on NATS', () => {
  it('delivers a task to the one provider on NATS among thirty on HTTP', async (t) => {
    const { agent, parley } = await testParley(t);
    const chef = await agent('chef', { dialect: 'task-format' });
    const cooks = Array.from({ length: 30 }, (_, n) => agent(`a-${n}`, { capabilities: ['cook'] }));
    await Promise.all([
      ...cooks,
      agent('z-afar', { dialect: 'task-format', capabilities: ['cook'], transport: 'nats' }),
    ]);
    assert.equal((await chef.send({ id: 'dinner', type: 'cook', payload: {} })).status, 202);
    assert.equal((await parley.deps.records.get(taskRef('default', 'dinner')))?.deliveryTarget, 'both');
  });
});
