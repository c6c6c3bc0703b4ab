import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { after, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { startServer, tempDir } from '../support/server-process.ts';

const MAIN = resolve(import.meta.dirname, '../../cdk/verify/main.ts');
const run = promisify(execFile);
const dir = tempDir({ after });
const server = await startServer({ after }, { dir: join(dir, 'data') });

describe('npm run verify:account', () => {
  const report = join(dir, 'report.md');
  const verify = (key: string) =>
    run(
      process.execPath,
      [
        ...[MAIN, '--url', server.address, '--admin-key', key, '--report', report],
        ...['--seconds', '2', '--rate', '10', '--claims', '2', '--idle-agents', '2', '--idle-seconds', '1'],
      ],
      // An AWS command line of the machine would find another account.
      { env: { PATH: '' } },
    );

  it('tries what it can without an account, and says of the rest that it did not', async () => {
    const { stdout } = await verify(server.adminKey);
    const verdicts = stdout.split('\n').flatMap((line) => /^\d\. (.+): (.+)$/.exec(line)?.slice(1).join(': ') ?? []);
    // Its verdict is about time, of which a busy machine says nothing.
    const timed = 'A claim that waits, with one queue in use and with two: ';
    assert.deepEqual(
      verdicts.filter((verdict) => !verdict.startsWith(timed)),
      [
        'One task cycle: as expected',
        'Task cycles one by one: as expected',
        'Throttles of two routes: not tried',
        'Agents that wait: look yourself',
        'Without dispatch for some minutes: not tried',
        'Messages to one agent: as expected',
        'Pause: not tried',
        'Restore: not tried',
      ],
    );
    const text = readFileSync(report, 'utf8');
    assert.match(text, /20 of 20 cycles ended/);
    assert.match(text, /one queue: p50 \d+ ms, p99 \d+ ms of 2\n- two queues: p50 \d+ ms, p99 \d+ ms of 2/);
    assert.match(text, /100 of 100 arrived, \d+ of them behind a later one/);
  });

  it('fails, and says why, where the deployment does not do what is expected', async () => {
    await assert.rejects(verify('prl_wrong'), { code: 1 });
    assert.match(readFileSync(report, 'utf8'), /was answered with 401/);
  });
});
