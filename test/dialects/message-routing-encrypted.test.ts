import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { describe, it } from 'node:test';
import * as z from 'zod';
import { assertRefused, refusedWithoutTrace, settled } from '../http/refusal.ts';
import { messageRouting, mrMessage } from '../support/message-routing.ts';
import { testParley } from '../support/test-parley.ts';
import { start, wire } from './message-routing-pair.ts';

const SECRET = { encrypted: { alg: 'ECDH-ES+A256KW', iv: 'AAEC', ciphertext: 'c2VhbGVk', parts: [null, 1] } };
const TYPES = ['status-update', 'task-delegation', 'result', 'command', 'heartbeat'];

describe('Message Routing with an encrypted payload', () => {
  for (const profile of [undefined, 'cfn']) {
    it(`carries a task and its report and result as they are${profile ? `, as ${profile} too` : ''}`, async (t) => {
      const { parley, coordinator, coder, delegate, say } = await start(t);
      if (profile) await parley.admin.call('PUT', '/v1/agents/coder-1', { ...messageRouting, profile });
      const asked = await delegate({ payload: SECRET });
      const [{ message }] = await coder.claim();
      assert.deepEqual(message.payload, SECRET);
      await say('status-update', { correlation_id: asked.msg_id, payload: SECRET });
      const { state, progress } = await coordinator.task(asked.taskId);
      assert.deepEqual([state, progress.percent], ['in_progress', undefined]);
      const result = await say('result', { correlation_id: asked.msg_id, payload: SECRET });
      await settled(parley);
      const [read] = await coordinator.inbox(20);
      assert.deepEqual([read.msg_id, read.payload], [result.msg_id, SECRET]);
      assert.equal((await coordinator.task(asked.taskId)).state, 'completed');
    });
  }

  it('is read by what stands in the clear beside it', async (t) => {
    const { parley, coordinator, coder, delegate, say } = await start(t);
    const failed = await delegate({ payload: SECRET });
    await coder.claim();
    const payload = { ...SECRET, status: 'failure' };
    const failure = await say('result', { correlation_id: failed.msg_id, payload });
    await settled(parley);
    assert.equal((await coordinator.task(failed.taskId)).state, 'failed');
    assert.deepEqual(await coordinator.inbox(20), [wire(failure)]);
    const context = { deadline: '2026-02-08T15:10:00.000Z' };
    const late = await delegate({ payload: { ...SECRET, context } });
    parley.clock.advance(600_000);
    await settled(parley);
    assert.equal((await coordinator.task(late.taskId)).state, 'expired');
  });

  it('delivers a command that Parley cannot execute, from coordinators only', async (t) => {
    const { parley, coordinator, coder } = await start(t);
    const command = mrMessage('command', 'coordinator-main', 'coder-1', { payload: SECRET });
    assert.equal((await coordinator.send(command)).status, 202);
    assert.deepEqual(await coder.inbox(), [command]);
    assert.equal((await coordinator.call('GET', '/v1/agents/coder-1')).body.paused, undefined);
    const other = mrMessage('command', 'coder-1', 'coordinator-main', { payload: SECRET });
    await refusedWithoutTrace(parley, 403, 'forbidden', () => coder.send(other));
  });

  it('shows the agent of an encrypted heartbeat online, and nothing of its health', async (t) => {
    const { coordinator, coder } = await start(t);
    const beat = (seconds: number, payload?: object) => {
      const timestamp = `2026-02-08T15:00:0${seconds}.000Z`;
      return coder.send(mrMessage('heartbeat', 'coder-1', 'coordinator-main', { timestamp, payload }));
    };
    const shown = async () => (await coordinator.call('GET', '/v1/agents/coder-1')).body.health;
    assert.equal((await beat(1, { health: 'degraded' })).status, 202);
    assert.equal((await shown()).status, 'degraded');
    assert.equal((await beat(2, SECRET)).status, 202);
    const { online, status, statusReport } = await shown();
    assert.deepEqual([online, status, statusReport], [true, undefined, undefined]);
    assert.equal(
      (await coder.send(mrMessage('status-update', 'coder-1', 'coordinator-main', { payload: SECRET }))).status,
      202,
    );
    assert.equal((await shown()).statusReport, undefined);
  });

  it('is rejected where `encrypted` is no object or a field beside it is wrong, in every type', async (t) => {
    const { parley, coordinator } = await start(t);
    const schema = z.fromJSONSchema((await parley.admin.call('GET', '/schemas/message-routing.json')).body);
    const isPublished = (message: object) => schema.safeParse(message).success;
    for (const type of TYPES) {
      const message = (payload: object) => mrMessage(type, 'coordinator-main', 'coder-1', { payload });
      assert.ok(isPublished(message(SECRET)), type);
      for (const encrypted of ['c2VhbGVk', null, [1]]) {
        assertRefused(await coordinator.send(message({ encrypted })), 400, 'invalid_message');
        assert.ok(!isPublished(message({ encrypted })), type);
      }
    }
    const wrong = mrMessage('result', 'coordinator-main', 'coder-1', {
      payload: { ...SECRET, status: 'done', issues: 1 },
    });
    const { body } = await coordinator.send(wrong);
    assert.deepEqual(
      body.issues.map(({ path }: { path: string }) => path),
      ['payload.status', 'payload.issues'],
    );
  });
});

describe('the encryption key of an agent', () => {
  it('is shown to all agents, and is no private key', async (t) => {
    const { admin, agent } = await testParley(t);
    const { publicKey, privateKey } = generateKeyPairSync('x25519');
    const encryptionKey = publicKey.export({ format: 'pem', type: 'spki' }).toString();
    await agent('keeper', { ...messageRouting, encryptionKey });
    const writer = await agent('writer', messageRouting);
    assert.equal((await writer.call('GET', '/v1/agents/keeper')).body.encryptionKey, encryptionKey);
    const wrong = privateKey.export({ format: 'pem', type: 'pkcs8' }).toString();
    const refused = await admin.call('PUT', '/v1/agents/keeper', { ...messageRouting, encryptionKey: wrong });
    assertRefused(refused, 400, 'invalid_request');
    assert.equal(refused.body.issues[0].path, 'encryptionKey');
    assert.equal((await writer.call('GET', '/v1/agents/keeper')).body.encryptionKey, encryptionKey);
  });
});
