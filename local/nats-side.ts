import { type Config, hasRelay } from '../shared/config.ts';
import type { Log } from '../shared/log.ts';
import { type NatsServer, natsServerOnPath, startNatsServer } from './nats-server.ts';
import { StartError } from './options.ts';

/** Where agents on NATS take part, in a line for whoever started this. */
export interface NatsSide {
  said: string;
  stop(): Promise<void>;
}

/** What the relay is for. */
export interface Cloud {
  config: Config;
  address: string;
  log: Log;
  /** Of the relay; asked for once. */
  key(): Promise<string>;
  /** Where what goes to NATS waits. Most starts have no NATS, and need not load what reads it. */
  source(): Promise<(project: string) => import('../relay/source.ts').Source>;
}

export const PROJECT = 'default';
const OFF = 'off';

/** Starts the relay against the NATS that was named, or against a server of its own where there is one on the path. */
export const startNatsSide = async (
  cloud: Cloud,
  { nats, dir }: { nats?: string | undefined; dir: string },
): Promise<NatsSide> => {
  const without = (said: string): NatsSide => ({ said, stop: async () => {} });
  if (nats === OFF || !hasRelay(cloud.config, PROJECT)) return without('Agents on NATS cannot take part.');
  const program = nats === undefined ? natsServerOnPath() : undefined;
  if (nats === undefined && program === undefined) {
    return without('Agents on NATS cannot take part: there is no nats-server on the path, and --nats names none.');
  }
  const server: NatsServer = program ? await startNatsServer(program, dir) : { url: nats ?? '', stop: async () => {} };
  try {
    const key = await cloud.key();
    const [{ startRelay }, { parleyApi }, source] = await Promise.all([
      import('../relay/relay.ts'),
      import('../relay/parley-api.ts'),
      cloud.source(),
    ]);
    const relay = await startRelay({
      nats: { servers: server.url },
      api: parleyApi(cloud.address, () => key),
      source,
      log: (level, message, facts) => level !== 'info' && cloud.log(level, message, facts),
      warmupMs: WARMUP_MS,
    });
    return {
      said: `Agents on NATS take part at ${server.url}`,
      stop: async () => {
        await relay.stop();
        await server.stop();
      },
    };
  } catch (error) {
    await server.stop();
    throw new StartError(
      `${error instanceof Error ? error.message : error} Another NATS: --nats URL; none: --nats off.`,
    );
  }
};

const WARMUP_MS = 5000;
