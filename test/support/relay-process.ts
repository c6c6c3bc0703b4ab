import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { SQSClient } from '@aws-sdk/client-sqs';
import { startFauxqs } from 'fauxqs';
import { bindToLoopback } from '../../local/cloudformation-runner/index.ts';
import { sendToSqs } from '../../shared/engines/aws/sqs-queue.ts';
import { systemClock } from '../../shared/ports/clock.ts';
import type { Ports } from '../../shared/ports/ports.ts';
import { buildQueueSuffix } from '../../shared/ports/queue-names.ts';
import { PRIORITIES } from '../../shared/ports/queues.ts';
import { eventually } from './eventually.ts';
import { atEndOf, type Owner } from './server-process.ts';

const MAIN = resolve(import.meta.dirname, '../../relay/main.ts');
const CREDENTIALS = { accessKeyId: 'test', secretAccessKey: 'test' };

/** The relay's queues on an SQS server, beside an engine that has everything else. */
interface RelayQueues {
  /** For relay processes. */
  env: Record<string, string>;
  through(ports: Ports): Ports;
}

export const relayQueues = async (owner: Owner): Promise<RelayQueues> => {
  const server = await bindToLoopback(() => startFauxqs({ port: 0, logger: false }));
  for (const priority of PRIORITIES) {
    const name = buildQueueSuffix({ project: 'default', kind: 'relay', name: 'egress', priority });
    server.createQueue(name, { attributes: { FifoQueue: 'true' } });
  }
  const endpoint = `http://127.0.0.1:${server.port}`;
  const sqs = new SQSClient({ endpoint, region: 'us-east-1', credentials: CREDENTIALS, useQueueUrlAsEndpoint: false });
  atEndOf(owner, async () => {
    sqs.destroy();
    await server.stop();
  });
  const urlPrefix = `${endpoint}/000000000000/`;
  const lanes = {
    sqs,
    urlPrefix,
    toSuffix: buildQueueSuffix,
    hasQueue: () => true,
    onUndeliverable: () => {},
    clock: systemClock,
    newId: randomUUID,
  };
  return {
    env: {
      PARLEY_QUEUE_URL_PREFIX: urlPrefix,
      AWS_ENDPOINT_URL_SQS: endpoint,
      AWS_REGION: 'us-east-1',
      AWS_ACCESS_KEY_ID: CREDENTIALS.accessKeyId,
      AWS_SECRET_ACCESS_KEY: CREDENTIALS.secretAccessKey,
    },
    through: (ports) => ({
      ...ports,
      queues: {
        ...ports.queues,
        send: async (messages) => {
          const { relay = [], own = [] } = Object.groupBy(messages, ({ queueKey }) =>
            queueKey.kind === 'relay' ? 'relay' : 'own',
          );
          await Promise.all([own.length > 0 && ports.queues.send(own), relay.length > 0 && sendToSqs(lanes, relay)]);
        },
      },
    }),
  };
};

export interface RelayProcess {
  pid: number;
  said(): string;
  /** What `/metrics`, `/healthz` and `/readyz` answer. */
  ask(path: string): Promise<Response>;
  ready(): Promise<void>;
  kill(signal: NodeJS.Signals): Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
}

/** A relay in a process of its own, from its source or as the given command. */
export const startRelayProcess = (
  owner: Owner,
  env: Record<string, string>,
  [command, ...args]: string[] = [process.execPath, MAIN],
  cwd?: string,
): RelayProcess => {
  const child: ChildProcess = spawn(command ?? '', args, {
    cwd,
    env: { PATH: process.env.PATH, RELAY_PORT: '0', RELAY_HOST: '127.0.0.1', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (more) => {
      text += more;
    });
  }
  const exited = once(child, 'close').then(([code, signal]) => ({ code, signal }));
  atEndOf(owner, () => {
    child.kill('SIGKILL');
    return exited;
  });
  const ask = (path: string): Promise<Response> => {
    const [, port] = /"port":(\d+)/.exec(text) ?? [];
    if (!port) throw new Error(`it has no port yet: ${text}`);
    return fetch(`http://127.0.0.1:${port}${path}`);
  };
  return {
    pid: child.pid ?? 0,
    said: () => text,
    ask,
    ready: () =>
      eventually(async () => {
        const answer = await ask('/readyz').catch(() => undefined);
        if (answer?.status !== 200) throw new Error(`/readyz says ${answer?.status}; it said ${text}`);
      }, 30_000),
    kill: (signal) => {
      child.kill(signal);
      return exited;
    },
  };
};
