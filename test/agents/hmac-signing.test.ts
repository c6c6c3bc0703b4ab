import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { assertRefused } from '../http/refusal.ts';
import { messageRouting } from '../support/message-routing.ts';
import { type TestParley, testParley } from '../support/test-parley.ts';

const SECRET = 'a-shared-secret-of-the-bus';

/** Signed with `jq -S -c . | tr -d '\n' | openssl dgst -sha256 -hmac a-shared-secret-of-the-bus`. */
const MESSAGE = {
  version: '1.1',
  msg_id: 'msg-1772366400-042',
  from: 'signer',
  to: 'reader',
  timestamp: 1_772_366_400,
  sequence: 1,
  type: 'agent:ready',
  payload: { status: 'ready', load: 0.5, note: 'größer' },
  requires_ack: false,
};
const SIGNATURE = '4c4c94a7f1127795dcb06de15c44df118b319210bfa25293d11ab1e91ab3c747';
const SIGNED = { ...MESSAGE, signature: SIGNATURE };

const SIGNER = { ...messageRouting, profile: 'cfn', signing: 'enforce' };

const start = async (t: Parameters<typeof testParley>[0]) => {
  const parley = await testParley(t);
  const signer = await parley.agent('signer', { ...SIGNER, hmacSecret: SECRET });
  const reader = await parley.agent('reader', { ...messageRouting, profile: 'cfn' });
  return { parley, signer, reader };
};

const register = ({ admin }: TestParley, registration: object) => admin.call('PUT', '/v1/agents/signer', registration);

describe('messages signed with a secret', () => {
  it('are accepted as the bus signs them, and reach their reader with their signature', async (t) => {
    const { signer, reader } = await start(t);
    const { status, body } = await signer.send(SIGNED);
    assert.equal(status, 202, JSON.stringify(body));
    const [read] = await reader.inbox();
    assert.deepEqual(read, SIGNED);
  });

  it('are accepted with the version of the signature beside it, which it does not cover', async (t) => {
    const { signer } = await start(t);
    assert.equal((await signer.send({ ...SIGNED, auth_version: '1.0' })).status, 202);
  });

  it('are rejected where they are unsigned, changed, signed with another secret, or too old', async (t) => {
    const { parley, signer } = await start(t);
    for (const message of [
      MESSAGE,
      { ...SIGNED, sequence: 2 },
      { ...SIGNED, signature: SIGNATURE.replace('4c4c', '4c4d') },
      { ...SIGNED, signature: 'short' },
    ])
      assertRefused(await signer.send(message), 403, 'bad_signature');
    assert.equal((await register(parley, { ...SIGNER, hmacSecret: `${SECRET}!` })).status, 200);
    assertRefused(await signer.send(SIGNED), 403, 'bad_signature');
    assert.equal((await register(parley, { ...SIGNER, hmacSecret: SECRET })).status, 200);
    parley.clock.advance(61_000);
    assertRefused(await signer.send(SIGNED), 403, 'bad_signature');
  });
});

describe('the secret of an agent', () => {
  it('is shown by no call, event or line of the log, and stands in no record that is listed', async (t) => {
    const { parley, signer } = await start(t);
    await signer.send(SIGNED);
    await signer.send(MESSAGE);
    const answers = await Promise.all(
      ['/v1/agents', '/v1/agents/signer', '/v1/events?limit=500', '/v1/audit-log', '/metrics'].map((path) =>
        parley.admin.call('GET', path),
      ),
    );
    const registered = await register(parley, { ...SIGNER, hmacSecret: SECRET });
    for (const { body } of [...answers, registered]) assert.doesNotMatch(JSON.stringify(body), new RegExp(SECRET));
    assert.doesNotMatch(parley.logged.join('\n'), new RegExp(SECRET));
  });

  it('stays with a registration without one, and goes with an empty one or with the agent', async (t) => {
    const { parley, signer } = await start(t);
    assert.equal((await register(parley, SIGNER)).status, 200);
    assert.equal((await signer.send(SIGNED)).status, 202);
    const without = await register(parley, { ...SIGNER, hmacSecret: '' });
    assertRefused(without, 400, 'invalid_request');
    assert.equal((await register(parley, { ...SIGNER, signing: 'off', hmacSecret: '' })).status, 200);
    assertRefused(await register(parley, SIGNER), 400, 'invalid_request');
    assert.equal((await register(parley, { ...SIGNER, hmacSecret: SECRET })).status, 200);
    assert.equal((await parley.admin.call('DELETE', '/v1/agents/signer')).status, 204);
    const again = await parley.admin.call('PUT', '/v1/agents/signer?inherit=true', SIGNER);
    assertRefused(again, 400, 'invalid_request');
  });

  it('is rejected where it is too short to be one', async (t) => {
    const { parley } = await start(t);
    assertRefused(await register(parley, { ...SIGNER, hmacSecret: 'short' }), 400, 'invalid_request');
  });
});
