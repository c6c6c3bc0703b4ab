import { setTimeout as pause } from 'node:timers/promises';
import type { RunningRelay } from '../relay/relay.ts';
import type { Config } from '../shared/config/config.ts';
import { hasRelay } from '../shared/config/project-settings.ts';
import type { NatsState } from '../shared/identity/deps.ts';
import type { Log } from '../shared/kernel/log.ts';
import { StartError } from './cli-options.ts';
import { findNatsServer, type NatsServer, startNatsServer } from './nats-server.ts';
import { parseNatsUrl } from './nats-url.ts';

export interface EmbeddedRelay {
  /** Absent without NATS. */
  summary: string | undefined;
  getState(): NatsState | undefined;
  stop(): Promise<void>;
}

export interface RelayHost {
  config: Config;
  address: string;
  log: Log;
  loadRelayKey(project: string): Promise<string>;
  /** Loaded on demand: most starts have no NATS. */
  openSource(project: string): Promise<import('../relay/egress-source.ts').EgressSource>;
}

const NATS_OFF = 'off';
const NATS_LOCAL = 'local';

/** HTTP calls are served regardless of NATS; the relay keeps trying to connect. */
export const startEmbeddedRelay = async (
  cloud: RelayHost,
  { nats, dir }: { nats?: string | undefined; dir: string },
): Promise<EmbeddedRelay> => {
  const createDisabledRelay = (said: string | undefined): EmbeddedRelay => ({
    summary: said,
    getState: () => undefined,
    stop: async () => {},
  });
  const projects = Object.keys(cloud.config.projects).filter((project) => hasRelay(cloud.config, project));
  if (nats === undefined || nats === NATS_OFF || projects.length === 0) return createDisabledRelay(undefined);
  const program = nats === NATS_LOCAL ? findNatsServer() : undefined;
  if (nats === NATS_LOCAL && program === undefined) {
    throw new StartError('There is no nats-server on the path for --nats local. Install one, or name one that runs.');
  }
  const server: NatsServer = program ? await startNatsServer(program, dir) : { url: nats, stop: async () => {} };
  const ending = new AbortController();
  const relays = projects.map((project) => startProjectRelay(cloud, project, server.url, ending.signal));
  await Promise.race([Promise.all(relays.map(({ tried }) => tried)), pause(FIRST_ATTEMPT_MS)]);
  const [missing] = relays.filter(({ state }) => !state.relay);
  const { shown } = parseNatsUrl(server.url);
  const whose = projects.length > 1 ? ` (projects ${projects.join(', ')})` : '';
  return {
    summary: missing
      ? `NATS at ${shown} cannot be used yet: ${missing.state.lastError ?? 'it does not answer'}. It is tried again until it can; HTTP works meanwhile.`
      : `Agents on NATS take part at ${shown}${whose}`,
    getState: () => (relays.every(({ state }) => state.relay?.isConnected()) ? 'connected' : 'waiting'),
    stop: async () => {
      ending.abort();
      await Promise.all(relays.map(({ state }) => state.relay?.stop()));
      await server.stop();
    },
  };
};

/** A server on this machine answers in milliseconds. */
const FIRST_ATTEMPT_MS = 3000;
const MAX_PAUSE_MS = 5000;

interface RelayAttempt {
  relay?: RunningRelay;
  lastError?: string;
}

const startProjectRelay = (
  cloud: RelayHost,
  project: string,
  url: string,
  signal: AbortSignal,
): { state: RelayAttempt; tried: Promise<void> } => {
  const state: RelayAttempt = {};
  const { options, shown } = parseNatsUrl(url);
  const first = Promise.withResolvers<void>();
  const runUntilConnected = async (): Promise<void> => {
    const [{ startRelay }, { createParleyApi }, { computeBackoffMs }, key, source] = await Promise.all([
      import('../relay/relay.ts'),
      import('../relay/parley-api.ts'),
      import('../relay/backoff.ts'),
      cloud.loadRelayKey(project),
      cloud.openSource(project),
    ]);
    const api = createParleyApi(cloud.address, () => key);
    const log: Log = (level, message, facts) => level !== 'info' && cloud.log(level, message, { project, ...facts });
    for (let failures = 0; !signal.aborted; failures++) {
      try {
        const relay = await startRelay({ nats: options, api, source: () => source, log, warmupMs: 0 });
        if (signal.aborted) return await relay.stop();
        state.relay = relay;
        if (failures > 0) cloud.log('info', 'NATS connected', { project, server: shown });
        return;
      } catch (error) {
        const why = (error instanceof Error ? error.message : String(error)).replace(/\.$/, '');
        if (why !== state.lastError) cloud.log('warn', 'NATS connection failed, retrying', { project, why });
        state.lastError = why;
      }
      first.resolve();
      await pause(Math.min(computeBackoffMs(failures), MAX_PAUSE_MS), undefined, { signal }).catch(() => {});
    }
  };
  runUntilConnected().then(first.resolve, first.reject);
  return { state, tried: first.promise };
};
