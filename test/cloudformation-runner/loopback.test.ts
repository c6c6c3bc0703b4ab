import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { describe, it } from 'node:test';
import { startFauxqs } from 'fauxqs';
import { bindToLoopback } from '../../local/cloudformation-runner/backends/bind-to-loopback.ts';
import { startDynamoDbLocal } from '../../local/cloudformation-runner/backends/dynamodb-local.ts';
import { getPort } from '../../local/cloudformation-runner/http/listen.ts';
import { startAwsServices } from '../support/aws-services.ts';
import { LOOPBACK, listeningOf } from '../support/listening-sockets.ts';
import { natsServer } from '../support/nats-server.ts';
import { relayQueues } from '../support/relay-process.ts';
import { atEndOf, tempDir } from '../support/server-process.ts';

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
    const { port } = new URL(services.dynamo.endpoint);
    assertLoopback(processesWith(`-port\0${port}\0`).flatMap(listeningOf), 1);
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
