import { setTimeout as pause } from 'node:timers/promises';
import { startParley } from '../../../local/composition.ts';
import { ensureKey } from '../../../local/ensure-key.ts';
import { createQueueSource } from '../../../relay/egress-source.ts';
import { createParleyApi } from '../../../relay/parley-api.ts';
import { type RelayOptions, startRelay } from '../../../relay/relay.ts';
import type { HttpHandler } from '../../../shared/http/router.ts';
import { eventually } from '../../support/eventually.ts';
import { hostileFollower } from '../../support/hostile-follower.ts';
import { hostilePorts, type Random } from '../../support/hostile-ports.ts';
import type { MovableClock } from '../../support/movable-clock.ts';
import { ADMIN_KEY, chaosConfig, type Job, type Order } from './job.ts';

export interface World {
  job: Job;
  clock: MovableClock;
  random: Random;
  log: (level: string, message: string, facts?: object) => void;
}

export interface System {
  handle: HttpHandler;
  afterListening?(port: number): Promise<void>;
  carryOut?(order: Order): Promise<unknown>;
}

export const startEmbedded = async ({ job, clock, random, log }: World): Promise<System> => {
  const config = chaosConfig('embedded');
  const parley = await startParley({
    dir: job.dir,
    config,
    adminKey: ADMIN_KEY,
    clock,
    log,
    wrapPorts: (ports) => (job.faults.includes('ports') ? hostilePorts(ports, random) : ports),
    wrapHandler: (changes) => (job.faults.includes('changes') ? hostileFollower(changes, random) : changes),
    onFailure: (error) => log('error', 'the storage has failed for good', { error: String(error) }),
  });
  const { nats } = job;
  if (!nats) return { handle: parley.handle };
  return {
    handle: parley.handle,
    afterListening: async () => {
      const { records, queues } = parley.deps;
      await eventually(() => ensureKey(records, 'default', 'relay', nats.key));
      // It goes on trying while NATS is out of reach, and so is not waited for.
      startRelayWhenReachable({
        nats: { servers: nats.url },
        api: createParleyApi(nats.address, () => nats.key),
        source: (project) => createQueueSource(queues, project),
        log: () => {},
        ackWaitMs: ACK_WAIT_MS,
        warmupMs: 0,
      });
    },
  };
};

/** What a cut wire left unsettled comes again soon. */
const ACK_WAIT_MS = 1000;
const PAUSE_MS = 50;

const startRelayWhenReachable = async (options: RelayOptions): Promise<void> => {
  for (;;) {
    const relay = await startRelay(options).catch(() => undefined);
    if (relay) return;
    await pause(PAUSE_MS);
  }
};
