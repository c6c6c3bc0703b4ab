import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { buildConsole } from '../../console/build.ts';
import { prepareFiles, serveConsole } from '../../console/serve-console.ts';

const MAX_BYTES = 150_000;
const { files } = await buildConsole();
const served = prepareFiles(files);
const get = (path: string, headers: Record<string, string> = {}) =>
  serveConsole(served, { method: 'GET', path, headers });

describe('the files of the console', () => {
  it('are less than 150 KB compressed in all', () => {
    const bytes = [...files.values()].reduce((sum, file) => sum + gzipSync(file).length, 0);
    assert.ok(bytes < MAX_BYTES, `${bytes} bytes`);
  });

  it('allow no inline script and nothing from elsewhere', () => {
    const { headers, body } = get('/console/');
    assert.match(headers['content-security-policy'] ?? '', /default-src 'none'; script-src 'self'; style-src 'self'/);
    assert.doesNotMatch(Buffer.from(body as Uint8Array).toString(), /<script[^>]*>[^<]|<style|style=|https?:/);
  });

  it('are found below any path, because they are addressed relatively', () => {
    assert.equal(get('/console').headers.location, 'console/');
    const page = Buffer.from(get('/console/').body as Uint8Array).toString();
    const names = [...page.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, name = '']) => name);
    assert.equal(names.length, 3);
    for (const name of names) assert.equal(get(`/console/${name}`).status, 200, name);
  });

  it('are kept by a browser for good, except the page that names them', () => {
    assert.equal(get('/console/').headers['cache-control'], 'no-cache');
    const script = [...files.keys()].find((name) => name.endsWith('.js'));
    assert.match(get(`/console/${script}`).headers['cache-control'] ?? '', /immutable/);
  });
});
