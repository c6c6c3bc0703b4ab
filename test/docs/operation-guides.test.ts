import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { parseOptions } from '../../local/cli-options.ts';
import manifest from '../../package.json' with { type: 'json' };
import { defineConfig } from '../../shared/config/config.ts';

const read = (page: string): string => readFileSync(new URL(`../../docs/guides/${page}.md`, import.meta.url), 'utf8');
const GUIDES = ['backup', 'service', 'tls-proxy', 'upgrade', 'one-machine'];
const { limits } = defineConfig({ projects: { default: { domains: {} } } });
/** As long as a stream is silent; a call waits for less. */
const MAX_SILENCE_SECONDS = 30;

describe('the guides for operators', () => {
  it('name only scripts that package.json has', () => {
    const names = GUIDES.flatMap((guide) => [...read(guide).matchAll(/npm run (?:--silent )?([\w:]+)/g)]);
    assert.ok(names.length > 5);
    for (const [, name = ''] of names) assert.ok(name in manifest.scripts, name);
  });

  it('have a unit of systemd that starts the server with options that it takes, and leaves room for its connections', () => {
    const unit = read('service');
    const [, command = ''] = /^ExecStart=(.*)$/m.exec(unit) ?? [];
    const [node = '', program = '', ...args] = command.split(' ');
    assert.ok(node.endsWith('/node_modules/.bin/node'));
    assert.ok(existsSync(program));
    const options = parseOptions(args);
    assert.ok(options !== 'help');
    assert.equal(options.dir, '/var/lib/parley');
    assert.ok(Number(/^LimitNOFILE=(\d+)$/m.exec(unit)?.[1]) > limits.connections);
    assert.match(unit, /^ExecReload=\/bin\/kill -HUP \$MAINPID$/m);
  });

  it('have proxies that wait longer than any call, take the largest body, and do not buffer', () => {
    const page = read('tls-proxy');
    for (const [, seconds] of page.matchAll(/(?:proxy_read_timeout|response_header_timeout) (\d+)s/g)) {
      assert.ok(Number(seconds) > MAX_SILENCE_SECONDS);
    }
    const megabytes = limits.bodyBytes / 2 ** 20;
    assert.match(page, new RegExp(`client_max_body_size ${megabytes}m;`));
    assert.match(page, new RegExp(`max_size ${megabytes}MB`));
    assert.match(page, /proxy_buffering off;/);
    assert.match(page, /flush_interval -1/);
  });
});
