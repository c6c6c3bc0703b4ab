import { newKey, RELAY, setRelayKey } from '../shared/agents/keys.ts';
import { hasRelay } from '../shared/config.ts';
import { newId } from '../shared/ids.ts';
import { keptKey } from './admin-key.ts';
import { type NatsServer, natsServerOnPath, startNatsServer } from './nats-server.ts';
import { StartError } from './options.ts';
import type { Parley } from './parley.ts';

/** Where agents on NATS take part, in a line for whoever started this. */
export interface NatsSide {
  said: string;
  stop(): Promise<void>;
}

const PROJECT = 'default';
const OFF = 'off';

/** Starts the relay against the NATS that was named, or against a server of its own where there is one on the path. */
export const startNatsSide = async (
  { deps }: Parley,
  { nats, dir, address }: { nats: string | undefined; dir: string; address: string },
): Promise<NatsSide> => {
  const without = (said: string): NatsSide => ({ said, stop: async () => {} });
  if (nats === OFF || !hasRelay(deps.config, PROJECT)) return without('Agents on NATS cannot take part.');
  const program = nats === undefined ? natsServerOnPath() : undefined;
  if (nats === undefined && program === undefined) {
    return without('Agents on NATS cannot take part: there is no nats-server on the path, and --nats names none.');
  }
  const server: NatsServer = program ? await startNatsServer(program, dir) : { url: nats ?? '', stop: async () => {} };
  try {
    const key = keptKey(dir, 'relay-key', () => newKey(PROJECT, RELAY));
    await setRelayKey(deps.records, PROJECT, key, newId());
    // Most starts have no NATS, and need not load its client.
    const [{ startRelay }, { parleyApi }, { queueSource }] = await Promise.all([
      import('../relay/relay.ts'),
      import('../relay/parley-api.ts'),
      import('../relay/source.ts'),
    ]);
    const relay = await startRelay({
      nats: { servers: server.url },
      api: parleyApi(address, () => key),
      source: (project) => queueSource(deps.queues, project),
      log: (level, message, facts) => level !== 'info' && deps.log(level, message, facts),
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
