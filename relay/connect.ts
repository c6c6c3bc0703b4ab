import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type Authenticator,
  connect,
  credsAuthenticator,
  type NatsConnection,
  type NodeConnectionOptions,
  nkeyAuthenticator,
} from '@nats-io/transport-node';
import { type RelaySettings, RelayStartError } from './settings.ts';

export type NatsOptions = Pick<NodeConnectionOptions, 'servers' | 'tls' | 'authenticator' | 'user' | 'pass' | 'token'>;

export const buildNatsOptions = (settings: RelaySettings): NatsOptions => ({
  servers: settings.NATS_SERVERS,
  tls: settings.NATS_TLS_ENABLED ? buildTlsOptions(settings.NATS_CERT_DIR) : undefined,
  authenticator: loadAuthenticator(settings),
  user: settings.NATS_USER,
  pass: settings.NATS_PASSWORD,
  token: settings.NATS_TOKEN,
});

/** Without any of the three files, Node's default CAs apply. */
const buildTlsOptions = (folder: string | undefined): NonNullable<NodeConnectionOptions['tls']> => {
  if (folder === undefined) return {};
  const found = (name: string): string | undefined => {
    const file = join(folder, name);
    return existsSync(file) ? file : undefined;
  };
  return { caFile: found('ca.pem'), certFile: found('cert.pem'), keyFile: found('key.pem') };
};

const loadAuthenticator = (settings: RelaySettings): Authenticator | undefined => {
  if (settings.NATS_CREDS_FILE) return credsAuthenticator(readFileSync(settings.NATS_CREDS_FILE));
  if (settings.NATS_NKEY_SEED_FILE) {
    const pending = readFileSync(settings.NATS_NKEY_SEED_FILE, 'utf8').trim();
    return nkeyAuthenticator(new TextEncoder().encode(pending));
  }
  return undefined;
};

const RECONNECT_MS = 250;
/** The client closes a connection after two unanswered pings. */
const PING_MS = 10_000;

export const connectToNats = async (options: NatsOptions, name: string, withinMs: number): Promise<NatsConnection> => {
  const until = Date.now() + withinMs;
  for (;;) {
    try {
      return await connect({
        ...options,
        name,
        maxReconnectAttempts: -1,
        reconnectTimeWait: RECONNECT_MS,
        pingInterval: PING_MS,
        ignoreAuthErrorAbort: true,
      });
    } catch (cause) {
      const why = cause instanceof Error ? cause.message : String(cause);
      if (Date.now() >= until) {
        throw new RelayStartError(`NATS at ${String(options.servers)} cannot be reached: ${why}.`, { cause });
      }
      await new Promise((resolve) => setTimeout(resolve, RECONNECT_MS));
    }
  }
};
