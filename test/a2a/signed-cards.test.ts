import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { type AgentCard, type AgentCardSignature, verifyAgentCardSignature } from '@a2a-js/sdk';
import baseConfig from '../../parley.config.ts';
import type { Caller } from '../support/api.ts';
import { testParley } from '../support/test-parley.ts';

const ADDRESS = 'https://parley.example';

const scene = (t: TestContext, a2a: object = { address: ADDRESS, publicProject: 'default' }) => {
  const dialects = { ...baseConfig.dialects, a2a: { ...baseConfig.dialects.a2a, ...a2a } };
  return testParley(t, { config: { dialects } });
};

const getCard = async (caller: Caller, agent: string, headers?: Record<string, string>) => {
  const path = agent === '' ? '' : `/a2a/${agent}`;
  const {
    status,
    body,
    headers: answered,
  } = await caller.call('GET', `${path}/.well-known/agent-card.json`, undefined, headers);
  return { status, body, etag: answered.etag };
};

/** As the official SDK does it, with the key that the signature names. Of a card that it has parsed, it forgets the security schemes. */
const verify = async (caller: Caller, card: AgentCard): Promise<string[]> => {
  const urls: string[] = [];
  await verifyAgentCardSignature(async (kid, jku = '') => {
    urls.push(jku);
    const { body } = await caller.call('GET', new URL(jku).pathname);
    const found = body.keys.find((key: { kid: string }) => key.kid === kid);
    assert.ok(found, `no key ${kid}`);
    return found;
  })(card);
  return urls;
};

describe('An agent card', () => {
  it('is signed so that the official SDK verifies it, and not after a change of any part', async (t) => {
    const { admin, agent } = await scene(t);
    const registered = await agent('galahad', {
      capabilities: ['security.scan', 'translate'],
      agentCard: { name: 'Galahad', description: 'Scans.', skills: { translate: { examples: ['Tides.'] } } },
    });
    for (const name of ['', '@gateway', registered.id]) {
      const { body: card } = await getCard(admin, name);
      assert.deepEqual(await verify(admin, card), [`${ADDRESS}/a2a/jwks.json`]);
      const changes: object[] = [
        { name: 'Mordred' },
        { supportedInterfaces: [{ ...card.supportedInterfaces[0], url: 'https://evil.example' }] },
        { skills: [...card.skills, { id: 'x', name: 'x', description: 'x', tags: ['x'] }] },
        { securityRequirements: [] },
        { securitySchemes: {} },
      ];
      for (const change of changes) await assert.rejects(verify(admin, { ...card, ...change }), JSON.stringify(change));
    }
  });

  it('keeps its key over a restart, and the private half is in no answer', async (t) => {
    const parley = await scene(t);
    const before = (await parley.admin.call('GET', '/a2a/jwks.json')).body;
    const { body: card } = await getCard(parley.admin, '');
    await parley.restart();
    const { body: after } = await parley.admin.call('GET', '/a2a/jwks.json');
    assert.deepEqual(after, before);
    assert.deepEqual(Object.keys(after.keys[0]).sort(), ['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y']);
    await verify(parley.admin, card);
  });

  it('has the same ETag each time, though each signature differs', async (t) => {
    const parley = await scene(t);
    const [first] = [await getCard(parley.admin, '')];
    await parley.restart();
    const second = await getCard(parley.admin, '');
    assert.equal(first.etag, second.etag);
    const signatureOf = ({ body }: typeof first) => (body.signatures as AgentCardSignature[])[0]?.signature;
    assert.notEqual(signatureOf(first), signatureOf(second));
    const again = await getCard(parley.admin, '', { 'if-none-match': first.etag ?? '' });
    assert.equal(again.status, 304);
  });

  it('is not signed where its address is what the client says', async (t) => {
    const { admin } = await scene(t, {});
    const { body } = await getCard(admin, '', { 'x-forwarded-host': 'evil.example' });
    assert.match(body.supportedInterfaces[0].url, /evil\.example/);
    assert.equal(body.signatures, undefined);
  });
});
