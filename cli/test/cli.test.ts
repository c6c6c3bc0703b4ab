import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { startServer, tempDir } from '../../test/support/server-process.ts';
import { COMMON_OPTIONS, EXIT } from '../command.ts';
import { formatCommandHelp } from '../help.ts';
import { COMMANDS, loadCommand } from '../registry.ts';
import { createRunner } from './run-parley.ts';

const OWNER = { after };
const home = tempDir(OWNER);
const { address, adminKey } = await startServer(OWNER, { dir: tempDir(OWNER) });

const { start, parley, succeeds } = createRunner(home, { PARLEY_URL: address, PARLEY_KEY: adminKey });

const file = (content: unknown): string => {
  const path = join(home, `${randomUUID()}.json`);
  writeFileSync(path, JSON.stringify(content));
  return path;
};

/** Does one capability with a shell command until the test ends. */
const works = async (capability: string, command: string, ...more: string[]): Promise<void> => {
  const child = start(['work', capability, '--exec', command, '--as', `w-${randomUUID().slice(0, 8)}`, ...more]);
  after(async () => {
    child.kill('SIGTERM');
    if (child.exitCode === null) await once(child, 'exit');
  });
  await new Promise<void>((resolve) =>
    child.stderr.on('data', (text) => String(text).includes('waits for') && resolve()),
  );
};

describe('parley', () => {
  it('lists every command, and shows its options and an example of each', async () => {
    const help = await succeeds(['--help']);
    assert.match(await succeeds(['tasks', 'list', '--help']), /--status/);
    for (const name of Object.keys(COMMANDS)) {
      assert.match(help, new RegExp(`^  ${name} `, 'm'));
      const { summary, examples, options = {} } = await loadCommand(name);
      assert.equal(summary, COMMANDS[name]?.summary);
      assert.ok(examples.length > 0 && examples.every((example) => example.includes(`parley ${name}`)), name);
      const text = formatCommandHelp(await loadCommand(name));
      for (const option of Object.keys({ ...options, ...COMMON_OPTIONS }))
        assert.match(text, new RegExp(`--${option}\\b`));
    }
  });

  it('gives work to any program and prints its result', async () => {
    const capability = `sum-${randomUUID()}`;
    await works(
      capability,
      `node -e "const i=JSON.parse(require('fs').readFileSync(0));console.log(JSON.stringify({sum:i.a+i.b}))"`,
    );
    assert.deepEqual(JSON.parse(await succeeds(['send', capability, '{"a": 2, "b": 3}', '--wait'])), { sum: 5 });
    assert.deepEqual(JSON.parse(await succeeds(['send', capability, '-', '--wait'], {}, '{"a": 1, "b": 1}')), {
      sum: 2,
    });
    const watched = await parley(['send', capability, '{"a": 1, "b": 2}', '--watch']);
    assert.deepEqual([watched.code, JSON.parse(watched.out)], [EXIT.ok, { sum: 3 }]);
    assert.match(watched.err, /completed/);
  });

  it('ends with 5 where the task failed, and with what the program said', async () => {
    const capability = `fails-${randomUUID()}`;
    await works(capability, 'echo no luck; exit 1');
    const { code, err } = await parley(['send', capability, '--wait']);
    assert.deepEqual([code, err], [EXIT.taskFailed, 'parley: no luck (program_failed)\n']);
    const letters = JSON.parse(await succeeds(['dead-letters', 'list', '--json']));
    const { id } = letters.find(({ type }: { type: string }) => type === capability);
    assert.match(await succeeds(['tasks', 'get', id]), /program_failed: no luck/);
    assert.match(await succeeds(['dead-letters', 'retry', id]), new RegExp(`^${id}\tqueued$`, 'm'));
    const watched = await parley(['tasks', 'watch', id]);
    assert.equal(watched.code, EXIT.taskFailed);
  });

  it('shows, cancels, retries and answers tasks', async () => {
    const capability = `held-${randomUUID()}`;
    const key = (
      await succeeds(['agents', 'add', `a-${randomUUID().slice(0, 8)}`, '--capabilities', capability])
    ).trim();
    const id = (await succeeds(['send', capability, '{"x": 1}', '--priority', 'high'])).trim();
    const held = await (
      await fetch(`${address}/v1/claims`, { method: 'POST', headers: { authorization: `Bearer ${key}` }, body: '{}' })
    ).json();
    assert.equal((held as { tasks: object[] }).tasks.length, 1);
    const ask = { kind: 'question', taskId: id, prompt: 'Sure?' };
    await fetch(`${address}/v1/messages`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}` },
      body: JSON.stringify(ask),
    });
    assert.match(await succeeds(['tasks', 'get', id]), /input_required/);
    const [row] = JSON.parse(
      await succeeds(['tasks', 'list', '--status', 'input_required', '--json', '--limit', '100']),
    ).filter((one: { id: string }) => one.id === id);
    assert.equal(row.priority, 'high');
    assert.match(await succeeds(['tasks', 'answer', id, '"yes"']), /claimed/);
    assert.match(await succeeds(['tasks', 'cancel', id]), /cancelled/);
    const again = await parley(['tasks', 'retry', id]);
    assert.equal(again.code, EXIT.rejected);
    assert.match(again.out, /only a failed or expired one runs again/);
    assert.deepEqual(JSON.parse(await succeeds(['inbox', '--key', key, '--json']))[0].kind, 'answer');
  });

  it('follows events until its reader closes the pipe', async () => {
    const child = start(['events', 'tail', '--types', 'task.requested', '--json']);
    const lines = (async () => {
      for await (const text of child.stdout) return JSON.parse(String(text).split('\n')[0] ?? '');
    })();
    const capability = `tail-${randomUUID()}`;
    const timer = setInterval(
      () => succeeds(['send', 'security.x', JSON.stringify({ capability })]).catch(() => {}),
      2000,
    );
    assert.equal((await lines).type, 'task.requested');
    clearInterval(timer);
    child.kill('SIGTERM');
    await once(child, 'exit');
  });

  it('validates and translates messages without a server', async () => {
    const request = { kind: 'request', id: randomUUID(), capability: 'intel.news', input: { topic: 'tides' } };
    const env = { PARLEY_URL: 'http://127.0.0.1:1', PARLEY_KEY: 'x' };
    assert.equal(await succeeds(['validate', file(request)], env), 'valid: native, request\n');
    const bad = await parley(['validate', file({ ...request, priority: 'urgent', more: 1 }), '--json'], env);
    assert.equal(bad.code, EXIT.rejected);
    assert.deepEqual(
      JSON.parse(bad.out).issues.map(({ path }: { path: string }) => path),
      ['priority', 'more'],
    );
    for (const dialect of ['round-table', 'agent-os', 'task-format', 'message-routing']) {
      const translated = file(JSON.parse(await succeeds(['translate', file(request), '--to', dialect], env)));
      assert.equal(await succeeds(['validate', translated], env), `valid: ${dialect}, request\n`);
    }
  });

  it('keeps profiles, whose keys only their owner can read', async () => {
    await succeeds(['profiles', 'add', 'here', '--url', address, '--key', adminKey]);
    const none = { PARLEY_URL: undefined, PARLEY_KEY: undefined };
    assert.match(await succeeds(['status'], none), /answers/);
    assert.equal(JSON.parse(readFileSync(join(home, 'parley', 'profiles.json'), 'utf8')).current, 'here');
    const wrong = await parley(['profiles', 'add', 'wrong', '--url', address, '--key', 'not-a-key']);
    assert.equal(wrong.code, EXIT.rejected);
    await succeeds(['profiles', 'remove', 'here']);
    assert.equal((await parley(['status'], none)).code, EXIT.usage);
  });

  it('says in one line what is wrong, with a code that scripts can use', async () => {
    const cases: [string[], Record<string, string>, number, RegExp][] = [
      [['nonsense'], {}, EXIT.usage, /no command "nonsense"/],
      [['tasks', 'get'], {}, EXIT.usage, /takes ID/],
      [['send', 'x', '{bad'], {}, EXIT.usage, /not JSON/],
      [['tasks', 'list', '--nope'], {}, EXIT.usage, /nope/],
      [['status'], { PARLEY_URL: 'http://127.0.0.1:1' }, EXIT.unreachable, /cannot be reached.*parley up/],
      [['status'], { PARLEY_KEY: 'prl_default.nobody.wrong' }, EXIT.rejected, /unauthorized/],
      [['tasks', 'get', 'none'], {}, EXIT.rejected, /task_not_found/],
      [['work', 'x'], {}, EXIT.usage, /--exec/],
    ];
    await Promise.all(
      cases.map(async ([args, env, code, text]) => {
        const said = await parley(args, env);
        assert.equal(said.code, code, `${args.join(' ')}: ${said.err}`);
        assert.match(said.err, text);
        assert.equal(said.err.trim().split('\n').length, 1, said.err);
        assert.equal(said.out, '');
      }),
    );
  });

  it('prints completions that the shell accepts', async () => {
    const script = await succeeds(['completion', 'bash']);
    const child = spawn('bash', [
      '-c',
      `${script}\nCOMP_WORDS=(parley tasks c) COMP_CWORD=2; _parley; echo "\${COMPREPLY[@]}"`,
    ]);
    let said = '';
    child.stdout.on('data', (text) => (said += text));
    await once(child, 'close');
    assert.equal(said.trim(), 'cancel');
  });

  it('finds this machine and a running deployment in order', async () => {
    assert.match(await succeeds(['doctor']), /ok\s+key/);
    const { code, out } = await parley(['doctor'], { PARLEY_URL: 'http://127.0.0.1:1' });
    assert.equal(code, EXIT.failed);
    assert.match(out, /bad\s+server/);
  });

  it('lists agents and removes them', async () => {
    const name = `gone-${randomUUID().slice(0, 8)}`;
    await succeeds(['agents', 'add', name, '--dialect', 'round-table']);
    assert.match(await succeeds(['agents', 'list']), new RegExp(`^${name}\tround-table\t`, 'm'));
    assert.match(await succeeds(['keys', 'rotate', '--agent', name]), /^prl_/);
    await succeeds(['agents', 'remove', name]);
    assert.doesNotMatch(await succeeds(['agents', 'list']), new RegExp(name));
  });
});
