import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createGuardedSender } from '../../shared/engines/outbound/guarded-sender.ts';
import { isPrivateAddress } from '../../shared/engines/outbound/private-addresses.ts';

const PRIVATE = [
  'https://127.0.0.1/',
  'https://2130706433/',
  'https://0x7f.1/',
  'https://0177.0.0.1/',
  'https://169.254.169.254/latest/meta-data/',
  'https://192.168.1.1/',
  'https://100.100.100.200/',
  'https://[::1]/',
  'https://[::]/',
  'https://[::ffff:127.0.0.1]/',
  'https://[::ffff:7f00:1]/',
  'https://[64:ff9b::7f00:1]/',
  'https://[2002:7f00:1::]/',
  'https://[fd00:ec2::254]/',
  'https://[fe80::1]/',
  'https://[2001:0:7f00:1::]/',
  'https://localhost/',
  'https://a.localhost./',
];

const resolvedTo = (...addresses: { address: string; family: number }[]) =>
  // biome-ignore lint/suspicious/noExplicitAny: the overloads of node:dns are many, and one is called
  ((_host: string, _options: object, done: any) => done(null, addresses)) as any;

const request = { method: 'POST', headers: {}, timeoutMs: 1000 } as const;

describe('What users name', () => {
  it('is not called where its address is of the own network, in any form', () => {
    const sender = createGuardedSender({ allowsPrivate: false });
    for (const url of PRIVATE) assert.throws(() => sender.assertAllowed(url), { code: 'address_forbidden' }, url);
    for (const url of ['http://example.com/', 'file:///etc/passwd', 'https://user:pass@example.com/', 'nonsense'])
      assert.throws(() => sender.assertAllowed(url), { code: 'address_forbidden' }, url);
    for (const url of ['https://example.com/', 'https://93.184.216.34/', 'https://[2606:2800:220:1::1]/'])
      assert.doesNotThrow(() => sender.assertAllowed(url), url);
  });

  it('is not called where its name resolves to such an address, alone or among others', async () => {
    const publicOne = { address: '93.184.216.34', family: 4 };
    for (const own of [
      { address: '127.0.0.1', family: 4 },
      { address: '::ffff:10.0.0.1', family: 6 },
      { address: 'fd00::1', family: 6 },
    ]) {
      for (const found of [[own], [publicOne, own]]) {
        const sender = createGuardedSender({ allowsPrivate: false, resolve: resolvedTo(...found) });
        await assert.rejects(sender.send({ ...request, url: 'https://rebound.example/' }), {
          code: 'address_forbidden',
        });
      }
    }
  });

  it('counts an address with a zone as private', () => {
    assert.ok(isPrivateAddress('fe80::1%eth0'));
  });
});
