import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, it } from 'node:test';
import * as z from 'zod';

const ROOT = resolve(import.meta.dirname, '..', '..');
/** The oldest Node.js that npm may run on. */
const OLDEST = 20;

const Lock = z.object({ packages: z.record(z.string(), z.object({ engines: z.looseObject({}).optional() })) });

/** `>=18`, `^20.19.0 || >=22`. */
const accepts = (range: string, major: number): boolean =>
  range.split('||').some((part) => {
    const [, operator = '', first = '0'] = /^\s*(>=|\^|~|>|)\s*v?(\d+)/.exec(part) ?? [];
    return operator.startsWith('>') ? Number(first) <= major : Number(first) === major;
  });

describe('npm ci', () => {
  it('warns of no package on the oldest Node.js that the README names', () => {
    assert.ok(readFileSync(resolve(ROOT, 'README.md'), 'utf8').includes(`Node.js ${OLDEST} or newer and npm`));
    assert.deepEqual(
      ['>=20', '^20.19.0 || >=22', '>= 18.x', '>=22', '^22', '*'].map((range) => accepts(range, OLDEST)),
      [true, true, true, false, false, false],
    );
    const { packages } = Lock.parse(JSON.parse(readFileSync(resolve(ROOT, 'package-lock.json'), 'utf8')));
    const refusing = Object.entries(packages).flatMap(([name, { engines }]) => {
      const range = engines?.node;
      return typeof range !== 'string' || range === '*' || accepts(range, OLDEST) ? [] : `${name} ${range}`;
    });
    assert.deepEqual(refusing, [], 'CONTRIBUTING.md says what to do about a package that needs a newer Node.js');
  });

  for (const command of [
    ['--import', './local/check-node.mjs', 'local/main.ts'],
    ['cli/bin.mjs', 'status'],
  ]) {
    it(`${command.at(-1)} says in one line what to do where Node.js is too old`, () => {
      const args = ['--no-experimental-strip-types', ...command];
      const { status, stderr, stdout } = spawnSync(process.execPath, args, { cwd: ROOT, encoding: 'utf8' });
      assert.equal(status, 1);
      assert.equal(stdout, '');
      assert.match(stderr, /^parley: Node\.js \S+ cannot run it: .* Run: npm rebuild node\n$/);
    });
  }

  it('starts every server behind the check of Node.js', () => {
    const { scripts } = JSON.parse(readFileSync(resolve(ROOT, 'package.json'), 'utf8'));
    for (const name of ['start', 'start:aws', 'start:localstack']) {
      assert.match(scripts[name], /^node --import \.\/local\/check-node\.mjs /, name);
    }
  });
});
