import { directoryOf } from '../shared/agents/directory.ts';
import { setAdminKey } from '../shared/agents/keys.ts';
import type { Config } from '../shared/config.ts';
import type { Deps, Ports } from '../shared/deps.ts';
import { dispatch } from '../shared/dispatch/dispatch.ts';
import { onDue } from '../shared/dispatch/on-due.ts';
import { WATCHED } from '../shared/dispatch/watched.ts';
import { openEngine } from '../shared/engines/embedded/engine.ts';
import { type Handle, router } from '../shared/http/router.ts';
import { routes } from '../shared/http/routes/routes.ts';
import { newId } from '../shared/ids.ts';
import type { Log } from '../shared/log.ts';
import type { Measure } from '../shared/measure.ts';
import { type Clock, systemClock } from '../shared/ports/clock.ts';
import type { Followers } from '../shared/ports/followers.ts';

export interface ParleyOptions {
  dir: string;
  config: Config;
  adminKey: string;
  log: Log;
  clock?: Clock;
  measure?: Measure;
  /** Called once, when the disk no longer takes what is written. */
  onFailure?: (error: unknown) => void;
  /** For tests: stands between the domain and the engine. */
  through?: (ports: Ports) => Ports;
  /** For tests: stands between the engine and the dispatcher. */
  follow?: (changes: Followers['changes']) => Followers['changes'];
}

/** The whole system in this process, on the embedded engine. */
export interface Parley {
  deps: Deps;
  handle: Handle;
  stop(): Promise<void>;
}

export const startParley = async (options: ParleyOptions): Promise<Parley> => {
  const {
    dir,
    config,
    log,
    clock = systemClock,
    onFailure,
    through = (ports) => ports,
    follow = (changes) => changes,
  } = options;
  const engine = openEngine({
    dir,
    clock,
    log,
    newId,
    onFailure,
    watched: WATCHED,
    eventsKeepMs: config.events.keepMs,
  });
  // A queue message follows from a record's change, also on the fast path: the dispatcher would send it again.
  const ports = through({ ...engine.ports, queues: engine.derived.queues });
  const measure = options.measure ?? (() => {});
  const deps: Deps = { ...ports, clock, config, log, measure, newId, directory: directoryOf(ports.records, clock) };
  await setAdminKey(engine.ports.records, 'default', options.adminKey, newId());
  // What follows from a change is done again should it be lost, so that nothing there waits for the disk.
  const following: Deps = { ...deps, ...through(engine.derived) };
  engine.start({
    changes: follow((changes) => dispatch(following, changes)),
    due: (record) => onDue(deps, record),
  });
  return { deps, handle: router(deps, routes), stop: () => engine.stop() };
};
