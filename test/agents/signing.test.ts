import assert from 'node:assert/strict';
import { generateKeyPairSync, randomUUID, sign } from 'node:crypto';
import { describe, it } from 'node:test';
import { toCanonicalJson } from '../../shared/kernel/json/fingerprint.ts';
import { assertRefused } from '../http/refusal.ts';
import { taskRequest } from '../support/api.ts';
import { enqueued, groundAgent, Worker } from '../support/ground.ts';
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
    const text = Buffer.from(toCanonicalJson(JSON.parse(JSON.stringify(message))));
    const signature = sign(type === 'rsa' ? 'sha256' : null, text, privateKey).toString('base64');
    return { ...message, signature };
  };
  return { parley, signer, reader, signed };
};

describe('signed messages', () => {
  for (const type of ['ed25519', 'rsa'] as const) {
    it(`accepts a message signed with an ${type} key and delivers it unchanged to its reader`, async (t) => {
      const { signer, reader, signed } = await start(t, 'enforce', type);
      const message = signed();
      assert.equal((await signer.send(message)).status, 202);
      assert.deepEqual(await reader.inbox(), [message]);
    });
  }

  it('rejects a message that is unsigned, changed, too old or of a dialect without signatures', async (t) => {
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

  it('logs a warning for an invalid signature that is not enforced', async (t) => {
    const { parley, signer, signed } = await start(t, 'warn');
    assert.equal((await signer.send(signed())).status, 202);
    const line = 'warn signature invalid (not enforced)';
    assert.ok(!parley.logged.includes(line));
    assert.equal((await signer.send(mrMessage('status-update', 'signer', 'reader'))).status, 202);
    assert.ok(parley.logged.includes(line));
  });

  it('rejects a private key as the public key of an agent', async (t) => {
    const { parley } = await start(t, 'off');
    const pairs = [generateKeyPairSync('ed25519'), generateKeyPairSync('rsa', { modulusLength: 2048 })];
    const written = pairs.flatMap(({ privateKey }) => [
      privateKey.export({ format: 'pem', type: 'pkcs8' }).toString(),
      privateKey.export({ format: 'der', type: 'pkcs8' }).toString('base64'),
      JSON.stringify(privateKey.export({ format: 'jwk' })),
    ]);
    const others = ['-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA', ` ${written[0]}`];
    for (const publicKey of [...written, ...others]) {
      for (const signing of ['off', 'enforce']) {
        const reply = await parley.admin.call('PUT', '/v1/agents/other', { ...messageRouting, publicKey, signing });
        assertRefused(reply, 400, 'invalid_request');
        assert.equal(reply.body.issues[0].path, 'publicKey');
      }
    }
  });

  it('rejects a signing agent without a readable public key', async (t) => {
    const { parley } = await start(t, 'off');
    for (const publicKey of [undefined, 'no key', '-----BEGIN PUBLIC KEY-----']) {
      const registration = { ...messageRouting, publicKey, signing: 'enforce' };
      assertRefused(await parley.admin.call('PUT', '/v1/agents/other', registration), 400, 'invalid_request');
    }
  });
});

describe('signed CommonGround messages', () => {
  const startGround = async (t: Parameters<typeof testParley>[0]) => {
    const parley = await testParley(t);
    const { publicKey, privateKey } = generateKeyPairSync('ed25519');
    const key = publicKey.export({ format: 'der', type: 'spki' }).toString('base64');
    const signer = await groundAgent(parley, 'signer', { publicKey: key, signing: 'enforce' });
    const now = (ms = 0) => new Date(parley.clock.now() + ms).toISOString();
    /** The signature covers subject, payload and the protocol's own headers. */
    const signed = (headers: Record<string, string> = { 'cg-timestamp': now() }, more: object = {}) => {
      const subject = 'cg.v1r3.default.public.cmd.agent.signer.turn';
      const lower = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
      const message = { subject, headers: lower, payload: { correlation_id: randomUUID(), mode: 'call', ...more } };
      const signature = sign(null, Buffer.from(toCanonicalJson(message)), privateKey).toString('base64');
      return { ...message, headers: { ...headers, 'cg-signature': signature } as Record<string, string> };
    };
    return { parley, signer, now, signed };
  };

  it('accepts CG-Signature whatever the trace headers and the case of header names', async (t) => {
    const { signer, now, signed } = await startGround(t);
    const message = signed({ 'cg-timestamp': now(), 'cg-recursion-depth': '3' });
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    const onTheWay = {
      'CG-Signature': message.headers['cg-signature'],
      'CG-Timestamp': now(),
      'CG-Recursion-Depth': 3,
      traceparent,
    };
    const sent = await signer.send({ ...message, headers: onTheWay });
    assert.equal(sent.status, 202, JSON.stringify(sent.body));
    assert.equal((await new Worker(signer).take()).inbox[0].recursion_depth, 3);
  });

  it('reads a CG-Timestamp in milliseconds, as Python writes it', async (t) => {
    const { parley, signer, signed } = await startGround(t);
    const at = (ms: number) => signed({ 'CG-Timestamp': String(parley.clock.now() + ms) });
    assertRefused(await signer.send(at(-60_001)), 403, 'bad_signature');
    const sent = await signer.send(at(0));
    assert.equal(sent.status, 202, JSON.stringify(sent.body));
  });

  it('rejects a message that is unsigned, changed in any part, too old or without a time', async (t) => {
    const { signer, now, signed } = await startGround(t);
    const right = signed();
    const { 'cg-signature': _signature, ...unsigned } = right.headers;
    const faults = [
      { ...right, headers: unsigned },
      { ...right, headers: {} },
      { ...right, headers: { ...right.headers, 'CG-Recursion-Depth': '1' } },
      { ...right, payload: { ...right.payload, correlation_id: 'other' } },
      { ...right, subject: right.subject.replace('public', 't_other') },
      signed({ 'cg-timestamp': now(-60_001) }),
      signed({ 'cg-timestamp': now(60_001) }),
      signed({ 'cg-timestamp': 'today' }),
      signed({}),
    ];
    for (const message of faults) assertRefused(await signer.send(message), 403, 'bad_signature');
    assert.equal(await new Worker(signer).lease(), undefined);
    assert.equal((await signer.send(right)).status, 202);
  });

  it('accepts a chunk without a signature', async (t) => {
    const { parley, signer } = await startGround(t);
    await enqueued(parley.admin, 'signer');
    const { agent_turn_id } = await new Worker(signer).take();
    const payload = { agent_turn_id, step_id: 's', chunk_type: 'content', content: 'hm' };
    assert.equal(
      (await signer.send({ subject: 'cg.v1r3.default.public.str.agent.signer.chunk', payload })).status,
      202,
    );
  });
});

describe('message limit', () => {
  it('rejects messages beyond the limit of an agent until the next minute', async (t) => {
    const parley = await testParley(t);
    const sender = await parley.agent('sender', { ...messageRouting, limits: { messagesPerMinute: 2, other: 'kept' } });
    const reader = await parley.agent('reader', messageRouting);
    const send = () => sender.send(mrMessage('status-update', 'sender', 'reader'));
    const statuses = [];
    for (let index = 0; index < 3; index++) statuses.push((await send()).status);
    assert.deepEqual(statuses, [202, 202, 429]);
    const refused = await send();
    assertRefused(refused, 429, 'rate_limited');
    assert.equal(refused.headers['retry-after'], '60');
    assert.equal((await reader.inbox()).length, 2);
    parley.clock.advance(15_000);
    assert.equal((await send()).headers['retry-after'], '45');
    parley.clock.advance(45_000);
    assert.equal((await send()).status, 202);
    const { limits } = (await parley.admin.call('GET', '/v1/agents/sender')).body;
    assert.deepEqual(limits, { messagesPerMinute: 2, other: 'kept' });
  });
});
