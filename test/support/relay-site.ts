import { setTimeout as pause } from 'node:timers/promises';
import { type ConsumerConfig, type JsMsg, jetstream, jetstreamManager } from '@nats-io/jetstream';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { type ParleyOptions, type RunningParley, startParley } from '../../local/composition.ts';
import { startHttpServer } from '../../local/http-server.ts';
import baseConfig from '../../parley.config.ts';
import { createQueueSource } from '../../relay/egress-source.ts';
import { createParleyApi } from '../../relay/parley-api.ts';
import { type RelayOptions, type RunningRelay, startRelay } from '../../relay/relay.ts';
import { type Config, defineConfig } from '../../shared/config/config.ts';
import type { Log } from '../../shared/kernel/log.ts';
import { type Caller, callerWith, httpTransport, registered, type TestAgent } from './api.ts';
import { type NatsServer, natsServer } from './nats-server.ts';
import { atEndOf, lastingPort, type Owner, tempDir } from './server-process.ts';

/** Security is served on-prem, everything else in the cloud. */
export const SITE_CONFIG: Config = defineConfig({
  projects: {
    default: {
      domains: { security: { description: 'on-prem', transport: 'nats' }, intel: { description: 'in the cloud' } },
      relay: true,
    },
  },
  tasks: { ...baseConfig.tasks, retryMs: 10 },
});

const ADMIN_KEY = 'an-admin-key-for-tests';

/** Parley over HTTP, a NATS server, and a client there that has nothing but NATS. */
export interface RelaySite {
  parley: RunningParley;
  address: string;
  admin: Caller;
  nats: NatsServer;
  client: NatsConnection;
  key: string;
  logged: string[];
  agent(id: string, registration?: object): Promise<TestAgent>;
  /** Stops taking calls, as an endpoint that is down. */
  close(): Promise<void>;
  open(): Promise<void>;
  /** Every call from now on takes so much longer. */
  slow(ms: number): void;
  relay(options?: Partial<RelayOptions>): Promise<RunningRelay>;
}

export const relaySite = async (
  owner: Owner,
  {
    config = SITE_CONFIG,
    through,
    clock,
  }: { config?: Config; through?: ParleyOptions['wrapPorts']; clock?: ParleyOptions['clock'] } = {},
): Promise<RelaySite> => {
  const nats = await natsServer(owner);
  const dir = tempDir(owner);
  const logged: string[] = [];
  const log: Log = (level, message, facts) => logged.push(`${level} ${message} ${JSON.stringify(facts ?? {})}`);
  const parley = await startParley({ dir, config, adminKey: ADMIN_KEY, log, wrapPorts: through, clock });
  atEndOf(owner, () => parley.stop());
  const port = await lastingPort();
  let delayMs = 0;
  const handle: RunningParley['handle'] = async (request) => {
    if (delayMs > 0) await pause(delayMs);
    return parley.handle(request);
  };
  const listen = () => startHttpServer(handle, port, '127.0.0.1');
  let server: Awaited<ReturnType<typeof listen>> | undefined = await listen();
  const close = async (): Promise<void> => {
    const closing = server;
    server = undefined;
    await closing?.close();
  };
  atEndOf(owner, close);
  const address = `http://127.0.0.1:${port}`;
  const transport = httpTransport(address);
  const admin = callerWith(transport, ADMIN_KEY);
  const { body } = await admin.call('POST', '/v1/relay/key');
  const client = await connect({ servers: nats.url, maxReconnectAttempts: -1, reconnectTimeWait: 100 });
  atEndOf(owner, () => client.close());
  return {
    parley,
    address,
    admin,
    nats,
    client,
    key: body.key,
    logged,
    agent: (id, registration) => registered(transport, admin, id, registration),
    close,
    slow: (ms) => {
      delayMs = ms;
    },
    open: async () => {
      server ??= await listen();
    },
    relay: async (options = {}) => {
      const relay = await startRelay({
        nats: { servers: nats.url },
        api: createParleyApi(address, () => body.key),
        source: (project) => createQueueSource(parley.deps.queues, project),
        log,
        ...options,
      });
      atEndOf(owner, () => relay.stop());
      return relay;
    },
  };
};

/** A durable consumer as an agent on-prem has it. */
export const consumerOf = async (client: NatsConnection, stream: string, config: Partial<ConsumerConfig>) => {
  const jsm = await jetstreamManager(client);
  const { name } = await jsm.consumers.add(stream, { ack_policy: 'explicit', ...config });
  return jetstream(client).consumers.get(stream, name);
};

/** What stands on NATS for one agent of any dialect. */
export const inboxOf = ({ client }: RelaySite, agent: string) =>
  consumerOf(client, 'PARLEY_default', { durable_name: agent, filter_subject: `parley.default.${agent}.inbox` });

/** The next message of the consumer, acknowledged. */
export const nextOf = async (
  consumer: Awaited<ReturnType<typeof consumerOf>>,
  patienceMs = 10_000,
  // biome-ignore lint/suspicious/noExplicitAny: tests look into whatever came, and fail where it is not there
): Promise<{ subject: string; body: any; message: JsMsg }> => {
  const message = await consumer.next({ expires: patienceMs });
  if (!message) throw new Error(`nothing came within ${patienceMs} ms`);
  message.ack();
  const { subject } = message;
  return {
    subject,
    message,
    get body() {
      return message.json();
    },
  };
};
