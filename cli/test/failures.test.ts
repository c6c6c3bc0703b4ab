import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { startServer, tempDir } from '../../test/support/server-process.ts';
import { EXIT } from '../command.ts';
import { COMMANDS } from '../registry.ts';
import { createRunner, type Said } from './run-parley.ts';

const OWNER = { after };
const server = await startServer(OWNER, { dir: tempDir(OWNER) });
const { parley } = createRunner(tempDir(OWNER), { PARLEY_URL: server.address, PARLEY_KEY: server.adminKey });

/** Every command that calls a server, with arguments that it takes. */
const CALLS: Record<string, string[]> = {
  status: [],
  queues: [],
  'queues pause': ['domain:security'],
  'queues resume': ['domain:security'],
  send: ['x'],
  'tasks list': [],
  'tasks get': ['x'],
  'tasks watch': ['x'],
  'tasks cancel': ['--domain', 'security'],
  'tasks retry': ['--domain', 'security'],
  'tasks rerun': ['x'],
  'tasks answer': ['x', '1'],
  'dead-letters list': [],
  'dead-letters retry': [],
  'operations list': [],
  'operations watch': ['x'],
  'operations stop': ['x'],
  'schedules list': [],
  'schedules get': ['x'],
  'schedules put': ['x', '0 6 * * *', 'security.briefing'],
  'schedules pause': ['x'],
  'schedules resume': ['x'],
  'schedules run': ['x'],
  'schedules remove': ['x'],
  'webhooks list': [],
  'webhooks put': ['x', 'https://example.com/'],
  'webhooks test': ['x'],
  'webhooks deliveries': ['x'],
  'webhooks remove': ['x'],
  'agents list': [],
  'agents add': ['x'],
  'agents remove': ['x'],
  'agents pause': ['x'],
  'agents resume': ['x'],
  'agents drain': ['x'],
  'keys list': [],
  'keys add': ['x'],
  'keys rotate': ['x'],
  'keys revoke': ['x'],
  'limits list': [],
  'limits get': ['x'],
  'limits set': ['x', '--concurrency', '1'],
  'limits remove': ['x'],
  inbox: [],
  'events tail': [],
};

/** They need no server, or one of their own. `doctor` and `profiles add` say what is wrong in their own way. */
const OTHERS = [
  'up',
  'doctor',
  'work',
  'bridge files',
  'mcp',
  'validate',
  'translate',
  'records get',
  'backup',
  'restore',
  'config check',
  'profiles list',
  'profiles add',
  'profiles use',
  'profiles remove',
  'completion',
];

describe('every command that calls a server', () => {
  it('is among those that are tried here', () => {
    assert.deepEqual([...Object.keys(CALLS), ...OTHERS].sort(), Object.keys(COMMANDS).sort());
  });

  const tryAll = async (more: Record<string, string>, check: (name: string, said: Said) => void) => {
    const waiting = Object.entries(CALLS);
    const next = async (): Promise<void> => {
      const [name, args] = waiting.pop() ?? [];
      if (name === undefined || args === undefined) return;
      check(name, await parley([...name.split(' '), ...args], more));
      await next();
    };
    await Promise.all(Array.from({ length: 8 }, next));
  };

  const isOneLine = (name: string, err: string): void => assert.match(err, /^parley: [^\n]+\n$/, name);

  it('ends with 3 and one line where no server is', async () => {
    await tryAll({ PARLEY_URL: 'http://127.0.0.1:1' }, (name, { code, out, err }) => {
      assert.deepEqual([code, out], [EXIT.unreachable, ''], name);
      isOneLine(name, err);
      assert.match(err, /cannot be reached/, name);
    });
  });

  it('ends with 4 and one line where its key is wrong', async () => {
    await tryAll({ PARLEY_KEY: server.adminKey.replace(/.{4}$/, 'AAAA') }, (name, { code, out, err }) => {
      assert.deepEqual([code, out], [EXIT.rejected, ''], name);
      isOneLine(name, err);
    });
  });

  it('writes no colours and no cursor movements into a pipe', async () => {
    for (const args of [['status'], ['queues'], ['tasks', 'list'], ['agents', 'list'], ['keys', 'list']]) {
      const { out, err } = await parley(args);
      assert.ok(!`${out}${err}`.includes('\u001b'), args.join(' '));
    }
  });
});
