import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { dirname, resolve } from 'node:path';
import { after, it } from 'node:test';
import { CAST } from '../../examples/demo/cast.ts';
import { eventually } from '../support/eventually.ts';
import { natsServerPath } from '../support/nats-server.ts';

const MAIN = resolve(import.meta.dirname, '../../examples/demo/main.ts');

/** The agent over NATS comes only where a server is on the path. */
const PATH = `${process.env.PATH}:${dirname(natsServerPath())}`;

it('npm run demo begins with the link to the console, tells what agents of every protocol do, and ends with a table', async () => {
  const { NODE_TEST_CONTEXT: _context, ...env } = process.env;
  const child = spawn(process.execPath, [MAIN, '--port', '0'], {
    env: { ...env, PATH },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  after(() => child.kill('SIGKILL'));
  let [said, complaints] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text) => {
    said += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text) => {
    complaints += text;
  });
  const workers = ['galahad', 'analyst', 'kitchen', 'researcher', 'scanner', 'library', 'forecaster', 'calculator'];
  await eventually(() => {
    for (const worker of workers)
      assert.match(said, new RegExp(`${worker} +completed`), `${worker}\n${said}${complaints}`);
    assert.match(said, /merlin +ended a turn: success/);
    assert.match(said, /coder +has a question to lead/);
    assert.match(said, /arthur +ended a turn: success/);
    assert.match(said, /gatekeeper +completed check_gate/);
  }, 60_000);
  const exited = once(child, 'exit');
  child.kill('SIGINT');
  await exited;
  const [first = ''] = said.split('\n');
  assert.equal(first, 'Open the console:');
  assert.match(said, /sign-in\?code=/);
  assert.match(said, /tasks requested, \d+ completed/);
  assert.equal(complaints, '');
  assert.equal(new Set(CAST.map(({ registration }) => (registration as { dialect: string }).dialect)).size, 7);
});
