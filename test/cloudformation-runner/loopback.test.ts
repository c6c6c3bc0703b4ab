import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { delimiter, join } from 'node:path';
import { describe, it } from 'node:test';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { startFauxqs } from 'fauxqs';
import { bindToLoopback } from '../../local/cloudformation-runner/backends/bind-to-loopback.ts';
import { startDynamoDbLocal } from '../../local/cloudformation-runner/backends/dynamodb-local.ts';
import { getPort } from '../../local/cloudformation-runner/http/listen.ts';
import { startAwsServices } from '../support/aws-services.ts';
import { LOOPBACK, listeningOf } from '../support/listening-sockets.ts';
import { natsServer } from '../support/nats-server.ts';
import { relayQueues } from '../support/relay-process.ts';
import { atEndOf, type Owner, tempDir } from '../support/server-process.ts';

const processesWith = (text: string): string[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && name !== String(process.pid))
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(text);
      } catch {
        return false;
      }
    });

describe('what stands behind start:aws', () => {
  it('DynamoDB Local listens on this machine alone', async (t) => {
    const dir = tempDir(t);
    const local = await startDynamoDbLocal(dir, 'us-east-1');
    atEndOf(t, () => local.stop());
    const sockets = processesWith(dir).flatMap(listeningOf);
    assert.equal(sockets.length, 1);
    assert.ok(LOOPBACK.includes(sockets[0] ?? ''), sockets.join());
    assert.deepEqual(await local.call('DynamoDB_20120810.ListTables', {}), { TableNames: [] });
  });

  it('SQS and S3 listen on this machine alone, and whatever is started after them where it wants to', async (t) => {
    const before = listeningOf(process.pid).length;
    const start = () => bindToLoopback(() => startFauxqs({ port: 0, logger: false }));
    const servers = await Promise.all([start(), start()]);
    for (const server of servers) atEndOf(t, () => server.stop());
    const sockets = listeningOf(process.pid);
    assert.equal(sockets.length, before + 2);
    assert.deepEqual(
      sockets.filter((address) => !LOOPBACK.includes(address)),
      [],
    );
    for (const { port } of servers) assert.equal((await fetch(`http://127.0.0.1:${port}/health`)).status, 200);
    const open = createServer();
    atEndOf(t, () => new Promise((resolve) => open.close(resolve)));
    await getPort(open, 0, '0.0.0.0');
    assert.ok(listeningOf(process.pid).includes('00000000'));
  });
});

describe('DynamoDB Local that does not start', () => {
  const fakeJava = (owner: Owner, script: string): string => {
    const folder = tempDir(owner);
    writeFileSync(join(folder, 'java'), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    return folder;
  };

  it('ends a file that starts it, with what Java says', async (t) => {
    // Compiles it: the other Java only runs it.
    await (await startDynamoDbLocal(tempDir(t), 'us-east-1')).stop();
    const folder = fakeJava(t, 'echo "Address already in use" >&2; exit 1');
    const services = join(import.meta.dirname, '../support/aws-services.ts');
    const file = join(folder, 'file.mjs');
    writeFileSync(
      file,
      `import { before, it } from 'node:test';
      import { startAwsServices } from ${JSON.stringify(pathToFileURL(services).href)};
      before(async () => { await startAwsServices(); });
      it('has a database', () => {});`,
    );
    const env = { ...process.env, PATH: `${folder}${delimiter}${process.env.PATH}`, NODE_TEST_CONTEXT: undefined };
    const run = promisify(execFile)(process.execPath, [file], { env, timeout: 25_000 });
    const failed = await run.then(
      () => assert.fail('it passed'),
      (error) => error,
    );
    assert.equal(failed.killed, false, 'it did not end by itself');
    assert.match(failed.stdout, /DynamoDB Local ended with 1 before it listened\. Address already in use/);
  });
});

describe('what the tests start listens on this machine alone', () => {
  const assertLoopback = (sockets: string[], count: number): void => {
    assert.equal(sockets.length, count);
    assert.ok(
      sockets.every((address) => LOOPBACK.includes(address)),
      sockets.join(),
    );
  };

  it('DynamoDB Local, SQS and S3', async (t) => {
    const services = await startAwsServices();
    atEndOf(t, () => services.stop());
    assertLoopback(listeningOf(services.databasePid), 1);
    assert.ok(!existsSync('dynamodb-local-metadata.json'), 'it is about to report to Amazon that it was started');
    // SQS and S3 share one, and the gateway in front of them has another.
    assertLoopback(listeningOf(process.pid), 2);
  });

  it('the queues of a relay', async (t) => {
    await relayQueues(t);
    assertLoopback(listeningOf(process.pid), 1);
  });

  it('NATS', async (t) => {
    const { port } = await natsServer(t);
    assertLoopback(processesWith(`-p\0${port}\0`).flatMap(listeningOf), 1);
  });
});
