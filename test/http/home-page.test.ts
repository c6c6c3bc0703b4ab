import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { routes } from '../../shared/http/routes/routes.ts';
import { callerWith } from '../support/api.ts';
import { testParley } from '../support/test-parley.ts';

describe('GET /', () => {
  it('says what this is to anyone, and every link on it leads somewhere without a key', async (t) => {
    const { transport } = await testParley(t);
    const nobody = callerWith(transport, undefined);
    const { status, headers, body } = await nobody.call('GET', '/');
    assert.equal(status, 200);
    assert.equal(headers['content-type'], 'text/html; charset=utf-8');
    assert.equal(headers['content-disposition'], 'inline');
    assert.match(headers['content-security-policy'] ?? '', /default-src 'none'/);
    assert.match(body, /<h1>Parley<\/h1>/);
    const links = [...body.matchAll(/href="([^"]+)"/g)].map(([, link]) => link);
    assert.ok(links.length > 2);
    for (const link of links) assert.equal((await nobody.call('GET', `/${link}`)).status, 200, link);
  });

  it('leads to the console exactly where there is one', async (t) => {
    const { transport, parley } = await testParley(t);
    const read = async (): Promise<string> => (await callerWith(transport, undefined).call('GET', '/')).body;
    assert.doesNotMatch(await read(), /href="console/);
    parley.deps.hasConsole = true;
    assert.match(await read(), /href="console\/"/);
  });

  it('is the only page for people among the calls', () => {
    const pages = routes.filter(({ responses }) => responses[200]?.otherType === 'text/html');
    assert.deepEqual(
      pages.map(({ path }) => path),
      ['/'],
    );
  });
});
