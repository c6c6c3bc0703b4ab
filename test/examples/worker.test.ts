import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { after, describe, it } from 'node:test';
import { enqueued, groundAgent, turnOf } from '../support/ground.ts';
import { atEndOf, startServer, tempDir } from '../support/server-process.ts';
import { contentsOf, startExample } from '../support/worker-example.ts';

const OWNER = { after };
const PATIENCE_MS = 20_000;

const parley = await startServer(OWNER, { dir: tempDir(OWNER) });

const calculator = await groundAgent(parley, 'calculator');
const tool = { target_subject: 'cmd.tool.calculator.execute', parameters: { type: 'object' } };
assert.equal((await parley.admin.call('PUT', '/v1/tools/calculator', tool)).status, 201);
startExample(OWNER, 'tool-service', calculator, parley.address);

/** Reads the stream of the turn until it says that the turn is over. */
const heard = async (turn: string): Promise<string> => {
  const headers = { authorization: `Bearer ${parley.adminKey}` };
  const signal = AbortSignal.timeout(PATIENCE_MS);
  const stream = await fetch(`${parley.address}/v1/turns/${turn}/stream`, { headers, signal });
  return stream.text();
};

const delivered = async (turn: string) => {
  await heard(turn);
  return turnOf(parley.admin, turn);
};

describe('the worker of the example', () => {
  it('thinks, calls its tool, goes on with the result and delivers, and says what it does meanwhile', async () => {
    const merlin = await groundAgent(parley, 'merlin');
    startExample(OWNER, 'worker', merlin, parley.address);
    const turn = await enqueued(parley.admin, 'merlin', { payload: { question: '6 * 7' } });
    const found = await delivered(turn);
    assert.equal(found.status, 'success');
    assert.deepEqual(await contentsOf(parley.admin, found.output_box_id), [
      { type: 'agent.thought', text: 'The calculator knows 6 * 7.' },
      { type: 'task.deliverable', text: 'It is 42.' },
    ]);
    const said = [...(await heard(turn)).matchAll(/"content":"([^"]*)"/g)].map(([, content]) => content);
    assert.equal(said.join(''), 'I have to work out 6 * 7.It is 42.');
    const next = await enqueued(parley.admin, 'merlin', { payload: { question: '1 / 0' } });
    const failed = await delivered(next);
    assert.equal(failed.status, 'failed');
    assert.match(failed.error, /has no result/);
  });

  it('delivers in any case, and lives on, whatever it is asked', async () => {
    const nimue = await groundAgent(parley, 'nimue');
    startExample(OWNER, 'worker', nimue, parley.address);
    for (const payload of [undefined, {}, { question: { no: 'text' } }, { question: null }]) {
      assert.equal((await delivered(await enqueued(parley.admin, 'nimue', { payload }))).status, 'failed');
    }
    const turn = await enqueued(parley.admin, 'nimue', { payload: { question: '2 * 3' } });
    assert.equal((await delivered(turn)).status, 'success');
  });

  it('works as its README says', async () => {
    const root = resolve(import.meta.dirname, '../..');
    const readme = readFileSync(join(root, 'examples/worker/README.md'), 'utf8');
    const commands = /```sh\n(.*?)```/s.exec(readme)?.[1] ?? '';
    const dir = tempDir(OWNER);
    const fresh = await startServer(OWNER, { dir });
    const script = commands.replace('http://127.0.0.1:4100', fresh.address).replace('.parley', dir);
    const shell = spawn('bash', ['-c', script], { cwd: root, detached: true, stdio: ['ignore', 'pipe', 'inherit'] });
    atEndOf(OWNER, () => process.kill(-(shell.pid ?? 0), 'SIGKILL'));
    let said = '';
    shell.stdout.setEncoding('utf8').on('data', (piece) => (said += piece));
    await once(shell, 'exit');
    assert.match(said, /"content":"I have to work out 6 \* 7\."/);
    assert.match(said, /"status":"success"/);
  });
});
