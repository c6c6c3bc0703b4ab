import assert from 'node:assert/strict';
import { createCipheriv, createDecipheriv, generateKeyPairSync, randomBytes, randomUUID, sign } from 'node:crypto';
import { describe, it } from 'node:test';
import { connect, type Encryption, type Json, ParleyError, type Signing } from '../src/index.ts';
import { address, admin, agent, connectAgent, run } from './agents.ts';

const SECRET = randomBytes(24).toString('base64');
const ed25519 = generateKeyPairSync('ed25519');
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const toPem = (key: { export(options: { format: 'pem'; type: 'spki' }): string | Buffer }): string =>
  String(key.export({ format: 'pem', type: 'spki' }));

const connectSigned = async (registration: object, capabilities: string[], signing?: Signing) => {
  const { id, key } = await agent('signs', { dialect: 'native', capabilities, signing: 'enforce', ...registration });
  return Object.assign(connect({ url: address, key, ...(signing && { signing }) }), { id });
};

describe('an agent whose registration enforces signatures', () => {
  const privateKey = String(ed25519.privateKey.export({ format: 'pem', type: 'pkcs8' }));
  const ways: [name: string, registration: object, signing: Signing][] = [
    ['Ed25519', { publicKey: toPem(ed25519.publicKey) }, { privateKey }],
    ['a shared secret', { hmacSecret: SECRET }, { hmacSecret: SECRET }],
    [
      'a key of its own kind',
      { publicKey: toPem(rsa.publicKey) },
      { sign: (text) => sign('sha256', text, rsa.privateKey) },
    ],
  ];
  for (const [name, registration, signing] of ways) {
    it(`requests, works, keeps steps and cancels with ${name}`, async () => {
      const capability = `signed-${randomUUID()}`;
      const parley = await connectSigned(registration, [capability], signing);
      const worker = parley.worker().on<{ text: string }>(capability, async ({ input }, ctx) => {
        await ctx.progress(50, 'half – way');
        return ctx.step('read', () => input.text.toUpperCase());
      });
      run(worker);
      await connectSigned(registration, [`idle-${capability}`], signing);
      const requester = await connectSigned(registration, [], signing);
      const handles = ['é', 'b', 'c'].map((text) => requester.request(capability, { text, 10: 1, 9: 2 }));
      assert.deepEqual(await Promise.all(handles.map((handle) => handle.result())), ['É', 'B', 'C']);
      const unclaimed = requester.request(`idle-${capability}`);
      assert.equal((await unclaimed.cancel()).state, 'cancelled');
    });
  }

  it('is refused without a signature', async () => {
    const parley = await connectSigned({ hmacSecret: SECRET }, []);
    const isUnsigned = (error: unknown) => error instanceof ParleyError && error.code === 'bad_signature';
    await assert.rejects(parley.request('any').accepted, isUnsigned);
  });
});

describe('evidence', () => {
  const sources = [{ name: 'Register of residents', url: 'https://register.example/2025' }];

  it('of a worker reaches a requester that speaks AgentOS, and one that uses the SDK', async () => {
    const capability = `evident-${randomUUID()}`;
    const parley = await connectAgent([capability]);
    run(
      parley.worker().on(capability, (_, ctx) => {
        ctx.setConfidence(0.9);
        ctx.setEvidence({ sources, citations: [{ text: '12,400 people' }] });
        return { people: 12_400 };
      }),
    );
    const requester = await connectAgent();
    const handle = requester.request<{ people: number }>(capability);
    const { output, confidence, evidence, from } = await handle.outcome();
    assert.deepEqual([output.people, confidence, evidence?.confidence], [12_400, 0.9, 90]);
    assert.deepEqual(evidence?.sources, sources);
    assert.ok(from.endsWith('sdk'), from);
    const { body } = await admin.call('GET', `/v1/tasks/${handle.id}?dialect=agent-os`);
    assert.deepEqual(body.evidence, {
      sources,
      citations: [{ text: '12,400 people' }],
      provenance: [],
      confidence: 90,
    });
  });

  it('without a source fails the task and says why', async () => {
    const capability = `baseless-${randomUUID()}`;
    const parley = await connectAgent([capability]);
    run(
      parley.worker().on(capability, (_, ctx) => {
        ctx.setEvidence({ citations: [] });
        return 1;
      }),
    );
    await assert.rejects((await connectAgent()).request(capability).result(), /invalid_result|source/);
  });
});

/** As two agents might agree on it. */
const encryption: Encryption = (() => {
  const key = randomBytes(32);
  return {
    encrypt: (content) => {
      const iv = randomBytes(12);
      const cipher = createCipheriv('aes-256-gcm', key, iv);
      const sealed = Buffer.concat([cipher.update(JSON.stringify(content), 'utf8'), cipher.final()]);
      return {
        iv: iv.toString('base64'),
        tag: cipher.getAuthTag().toString('base64'),
        text: sealed.toString('base64'),
      };
    },
    decrypt: (encrypted) => {
      const { iv, tag, text } = encrypted as Record<string, string>;
      const decipher = createDecipheriv('aes-256-gcm', key, Buffer.from(iv ?? '', 'base64'));
      decipher.setAuthTag(Buffer.from(tag ?? '', 'base64'));
      return JSON.parse(
        `${decipher.update(Buffer.from(text ?? '', 'base64'), undefined, 'utf8')}${decipher.final('utf8')}`,
      ) as Json;
    },
  };
})();

describe('encryption', () => {
  it('hides the input and the result from Parley, and neither side has to care', async () => {
    const capability = `secret-${randomUUID()}`;
    const { id, key } = await agent('sealed', { dialect: 'native', capabilities: [capability] });
    run(
      connect({ url: address, key, encryption })
        .worker()
        .on<{ plan: string }>(capability, ({ input }) => input.plan),
    );
    const requester = await connectAgent([], { encryption });
    const handle = requester.request(capability, { plan: 'at dawn' }, { to: id, encrypt: true });
    assert.equal(await handle.result(), 'at dawn');
    assert.equal((await handle.outcome()).output, 'at dawn');
    const { body } = await admin.call('GET', `/v1/tasks/${handle.id}`);
    assert.deepEqual([Object.keys(body.payload), Object.keys(body.result)], [['encrypted'], ['encrypted']]);
    assert.ok(!JSON.stringify(body).includes('dawn'));
  });

  it('that cannot be undone fails the task, and needs an addressee', async () => {
    const capability = `garbled-${randomUUID()}`;
    const { id, key } = await agent('sealed', { dialect: 'native', capabilities: [capability] });
    run(
      connect({ url: address, key, encryption })
        .worker()
        .on(capability, () => 'never'),
    );
    const requester = await connectAgent([], { encryption });
    const garbled = { encrypted: { iv: '', tag: '', text: '' } };
    await assert.rejects(requester.request(capability, garbled, { to: id }).result(), /cannot be read/);
    await assert.rejects(requester.request(capability, {}, { encrypt: true }).result(), /name it in `to`/);
  });
});
