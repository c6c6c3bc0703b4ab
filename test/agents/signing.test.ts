import assert from 'node:assert/strict';
import { generateKeyPairSync, sign } from 'node:crypto';
import { describe, it } from 'node:test';
import { canonical } from '../../shared/json/fingerprint.ts';
import { assertRefused } from '../http/refusal.ts';
import { taskRequest } from '../support/api.ts';
import { messageRouting, mrMessage, type Wire } from '../support/message-routing.ts';
import { testParley } from '../support/test-parley.ts';

const start = async (t: Parameters<typeof testParley>[0], signing: string, type: 'ed25519' | 'rsa' = 'ed25519') => {
  const parley = await testParley(t);
  const { publicKey, privateKey } =
    type === 'rsa' ? generateKeyPairSync('rsa', { modulusLength: 2048 }) : generateKeyPairSync('ed25519');
  const asText =
    type === 'rsa'
      ? publicKey.export({ format: 'pem', type: 'spki' }).toString()
      : publicKey.export({ format: 'der', type: 'spki' }).toString('base64');
  const signer = await parley.agent('signer', { ...messageRouting, publicKey: asText, signing });
  const reader = await parley.agent('reader', messageRouting);
  const signed = (overrides: Record<string, unknown> = {}): Wire => {
    const timestamp = new Date(parley.clock.now()).toISOString();
    const message = mrMessage('status-update', 'signer', 'reader', { timestamp, ...overrides });
    const text = Buffer.from(canonical(JSON.parse(JSON.stringify(message))));
    const signature = sign(type === 'rsa' ? 'sha256' : null, text, privateKey).toString('base64');
    return { ...message, signature };
  };
  return { parley, signer, reader, signed };
};

describe('an agent that signs', () => {
  for (const type of ['ed25519', 'rsa'] as const) {
    it(`is believed by its ${type} key, and its reader can check what it reads`, async (t) => {
      const { signer, reader, signed } = await start(t, 'enforce', type);
      const message = signed();
      assert.equal((await signer.send(message)).status, 202);
      assert.deepEqual(await reader.inbox(), [message]);
    });
  }

  it('is refused what is unsigned, changed, too old or of a dialect without signatures', async (t) => {
    const { parley, signer, reader, signed } = await start(t, 'enforce');
    const { signature: _signature, ...unsigned } = signed();
    const changed = { ...signed(), sequence: 99 };
    const at = (ms: number) => ({ timestamp: new Date(parley.clock.now() + ms).toISOString() });
    const faults = [unsigned, changed, { ...signed(), signature: 5 }, signed(at(-60_001)), signed(at(60_001))];
    for (const message of [...faults, taskRequest('signer')]) {
      assertRefused(await signer.send(message), 403, 'bad_signature');
    }
    assert.deepEqual(await reader.inbox(), []);
    assert.equal((await signer.send(signed(at(-59_999)))).status, 202);
  });

  it('is only spoken of where it is to be warned', async (t) => {
    const { parley, signer, signed } = await start(t, 'warn');
    assert.equal((await signer.send(signed())).status, 202);
    const line = 'warn a message is not signed as it should be';
    assert.ok(!parley.logged.includes(line));
    assert.equal((await signer.send(mrMessage('status-update', 'signer', 'reader'))).status, 202);
    assert.ok(parley.logged.includes(line));
  });

  it('must have a key that can be read', async (t) => {
    const { parley } = await start(t, 'off');
    for (const publicKey of [undefined, 'no key', '-----BEGIN PUBLIC KEY-----']) {
      const registration = { ...messageRouting, publicKey, signing: 'enforce' };
      assertRefused(await parley.admin.call('PUT', '/v1/agents/other', registration), 400, 'invalid_request');
    }
  });
});

describe('an agent with a limit of messages', () => {
  it('is refused what is beyond it, until the next minute', async (t) => {
    const parley = await testParley(t);
    const sender = await parley.agent('sender', { ...messageRouting, limits: { messagesPerMinute: 2, other: 'kept' } });
    const reader = await parley.agent('reader', messageRouting);
    const send = () => sender.send(mrMessage('status-update', 'sender', 'reader'));
    const statuses = [];
    for (let index = 0; index < 3; index++) statuses.push((await send()).status);
    assert.deepEqual(statuses, [202, 202, 429]);
    const refused = await send();
    assertRefused(refused, 429, 'rate_limited');
    assert.equal(refused.headers['retry-after'], '1');
    assert.equal((await reader.inbox()).length, 2);
    parley.clock.advance(60_000);
    assert.equal((await send()).status, 202);
    const { limits } = (await parley.admin.call('GET', '/v1/agents/sender')).body;
    assert.deepEqual(limits, { messagesPerMinute: 2, other: 'kept' });
  });
});
