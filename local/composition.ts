import type { Config } from '../shared/config/config.ts';
import { toTracesUrl } from '../shared/config/tracing-environment.ts';
import { dispatchChanges } from '../shared/effects/dispatcher.ts';
import { LISTED_KINDS } from '../shared/effects/listed-kinds.ts';
import { CHANGE_FEED_KINDS, RECORDS } from '../shared/effects/record-definitions.ts';
import { onTimer } from '../shared/effects/record-handlers.ts';
import { type EmbeddedEngine, openEmbeddedEngine } from '../shared/engines/embedded/embedded-engine.ts';
import { createGuardedSender } from '../shared/engines/outbound/guarded-sender.ts';
import { SpanExporter } from '../shared/engines/outbound/span-exporter.ts';
import { createRouter, type HttpHandler } from '../shared/http/router.ts';
import { routes } from '../shared/http/routes/routes.ts';
import { createDirectory } from '../shared/identity/agents/directory.ts';
import type { Deps } from '../shared/identity/deps.ts';
import { addProjects, listProjectRecords } from '../shared/identity/projects.ts';
import { generateId } from '../shared/kernel/ids.ts';
import type { Log } from '../shared/kernel/log.ts';
import { MetricRegistry } from '../shared/kernel/metric-registry.ts';
import { createDepthCollector } from '../shared/messaging/inbox/collect-depths.ts';
import { type Clock, systemClock } from '../shared/ports/clock.ts';
import type { EngineHandlers } from '../shared/ports/engine-handlers.ts';
import type { HttpSender } from '../shared/ports/http-sender.ts';
import type { Ports } from '../shared/ports/ports.ts';
import { createQueueCollector } from '../shared/statistics/collect-queue-metrics.ts';
import { RollUpLoop } from '../shared/statistics/roll-up-loop.ts';
import { BackgroundWork } from './background-work.ts';
import { BoundedAdmission } from './bounded-admission.ts';
import { ensureKey } from './ensure-key.ts';

export interface ParleyOptions {
  dir: string;
  config: Config;
  adminKey: string;
  log: Log;
  clock?: Clock;
  natsState?: Deps['natsState'];
  hasConsole?: boolean;
  /** Called once, when the storage has failed for good. */
  onFailure?: (error: unknown) => void;
  acceptDamage?: boolean;
  httpSender?: HttpSender;
  wrapPorts?: (ports: Ports) => Ports;
  wrapHandler?: (changes: EngineHandlers['onChanges']) => EngineHandlers['onChanges'];
}

export interface RunningParley {
  deps: Deps;
  handle: HttpHandler;
  /** Without the projects that calls created. */
  getConfig(): Config;
  /** From now on; what has begun goes on as it began. */
  setConfig(config: Config): void;
  backUp: EmbeddedEngine['backUp'];
  stop(): Promise<void>;
}

export const startParley = async (options: ParleyOptions): Promise<RunningParley> => {
  const {
    dir,
    config,
    log,
    clock = systemClock,
    onFailure,
    wrapPorts = (ports) => ports,
    wrapHandler = (changes) => changes,
  } = options;
  const engine = openEmbeddedEngine({
    dir,
    clock,
    log,
    newId: generateId,
    onFailure,
    acceptDamage: options.acceptDamage,
    kinds: CHANGE_FEED_KINDS,
    migrations: RECORDS,
    lists: LISTED_KINDS,
    eventRetentionMs: config.events.retentionMs,
    fairness: config.tasks.fairness,
  });
  // A lost queue message is sent again by the dispatcher, so an eager enqueue does not wait for the disk.
  const admission = new BoundedAdmission(config.limits.inFlight, log);
  const ports = wrapPortsForAdmission(wrapPorts({ ...engine.ports, queues: engine.effectPorts.queues }), admission);
  const metrics = new MetricRegistry();
  const directory = createDirectory(ports.records, clock, { isSingleProcess: true });
  const background = new BackgroundWork(log);
  const { allowPrivateAddresses } = config.outbound;
  const spans = createSpanExporter(config, log, clock);
  const deps: Deps = {
    ...ports,
    httpSender: options.httpSender ?? createGuardedSender({ allowsPrivate: allowPrivateAddresses }),
    background: (work) => background.start(work),
    clock,
    config,
    log,
    metrics,
    recordMetric: (...measured) => metrics.record(...measured),
    spans,
    derivesListings: true,
    newId: generateId,
    directory,
    natsState: options.natsState,
    hasConsole: options.hasConsole,
  };
  metrics.addCollector(createDepthCollector(deps, metrics));
  metrics.addCollector(createQueueCollector(deps, metrics));
  await ensureKey(engine.ports.records, 'default', 'admin', options.adminKey);
  // A lost effect is executed again, so effects do not wait for the disk.
  const following: Deps = { ...deps, ...wrapPorts(engine.effectPorts) };
  let configured = config;
  let projects = await listProjectRecords(engine.ports.records);
  const applyConfig = (): void => {
    deps.config = addProjects(configured, projects);
    following.config = deps.config;
  };
  applyConfig();
  deps.projects = {
    isConfigured: (name) => Object.hasOwn(configured.projects, name),
    reload: async () => {
      projects = await listProjectRecords(engine.ports.records);
      applyConfig();
    },
  };
  const statistics = new RollUpLoop(following);
  engine.start({
    onChanges: wrapHandler(async (changes) => {
      await dispatchChanges(following, changes);
      statistics.onDispatched(changes);
    }),
    onTimer: (record) => onTimer(deps, record),
  });
  const setConfig = (changed: Config): void => {
    configured = changed;
    applyConfig();
    admission.setLimits(changed.limits.inFlight);
  };
  const stop = async (): Promise<void> => {
    await background.stop();
    await statistics.stop();
    await engine.stop();
    await spans?.stop();
  };
  return {
    deps,
    handle: createRouter(deps, routes, admission),
    getConfig: () => configured,
    setConfig,
    backUp: engine.backUp,
    stop,
  };
};

const SPANS_AFTER_MS = 1000;

const createSpanExporter = ({ tracing }: Config, log: Log, clock: Clock): SpanExporter | undefined => {
  const { endpoint, headers, serviceName } = tracing;
  if (endpoint === undefined) return undefined;
  const resource = { 'service.name': serviceName };
  return new SpanExporter({
    url: toTracesUrl(endpoint),
    headers,
    resource,
    log,
    clock,
    flushAfterMs: SPANS_AFTER_MS,
  });
};

const wrapPortsForAdmission = (ports: Ports, admission: BoundedAdmission): Ports => ({
  ...ports,
  records: {
    ...ports.records,
    watch: (pk) => {
      const { next, close } = ports.records.watch(pk);
      return { next: (ms, signal) => admission.releaseWhileWaiting(() => next(ms, signal)), close };
    },
  },
  queues: {
    ...ports.queues,
    receive: (queueKeys, options) => {
      const receive = () => ports.queues.receive(queueKeys, options);
      return options.waitMs > 0 ? admission.releaseWhileWaiting(receive) : receive();
    },
  },
  events: {
    ...ports.events,
    waitForMore: (...args) => admission.releaseWhileWaiting(() => ports.events.waitForMore(...args)),
  },
});
