import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { startBackends } from './backends/start-backends.ts';
import { type ContainerCommands, type RunningContainer, runContainer } from './containers/container.ts';
import { buildDeployment } from './deployment.ts';
import { Disposer } from './disposer.ts';
import { createBus } from './events/bus.ts';
import { runSchedules } from './events/schedules.ts';
import { buildScheduledEvent, createTargets } from './events/targets.ts';
import { Gateway } from './gateway/gateway.ts';
import { serveGateway } from './gateway/serve-gateway.ts';
import { startApiServer } from './http/api-server.ts';
import { type RunningUrls, reserveUrls } from './http/function-urls.ts';
import { answerRequest } from './http/http-api.ts';
import { listKeyPermissions } from './iam/key-permissions.ts';
import type { Grant } from './iam/role-access.ts';
import { ConcurrencyPool } from './lambda/concurrency-pool.ts';
import { runFunction } from './lambda/functions.ts';
import type { InvocationResult } from './lambda/lambda-function.ts';
import { runMapping } from './mappings/run-mapping.ts';
import { StreamPositions } from './mappings/stream-positions.ts';
import { createRandom } from './random.ts';
import { TemplateError } from './template-error.ts';

export interface TemplateOptions {
  template: unknown;
  assets: string;
  dir: string;
  port?: number;
  host?: string;
  stackName?: string;
  /** Refused calls, failed invocations and abandoned records, which have no caller that would see them. */
  onTrouble?(line: string): void;
  scheduleMinuteMs?: number;
  /** Of all functions together. */
  accountConcurrency?: number;
  /** For what is left to chance, as on AWS. */
  seed?: number;
  containers?: ContainerCommands;
}

export interface UnusedGrant extends Grant {
  functionName: string;
}

export interface RunningTemplate {
  address: string;
  urls: Record<string, string>;
  gateway: Gateway;
  gatewayAddress: string;
  region: string;
  account: string;
  outputs: Record<string, unknown>;
  /** The most invocations that ran at once, of functions without a reservation. */
  getHighestConcurrency(): number;
  invoke(nameOrLogicalId: string, payload: unknown): Promise<InvocationResult>;
  findFunctionName(ending: string): string;
  createAccessKey(nameOrLogicalId: string): string;
  listUnusedGrants(): UnusedGrant[];
  stop(): Promise<void>;
}

const REGION = 'us-east-1';
/** Hard-coded in the local SQS. */
const ACCOUNT = '000000000000';
const LAST_BATCH_MS = 3000;

export const startTemplate = async (options: TemplateOptions): Promise<RunningTemplate> => {
  const undo = new Disposer();
  try {
    return await startResources(options, undo);
  } catch (error) {
    await undo.disposeAll();
    throw error;
  }
};

const startResources = async (options: TemplateOptions, undo: Disposer): Promise<RunningTemplate> => {
  const { template, assets, dir, port = 0, host = '127.0.0.1', stackName = 'Parley' } = options;
  const { onTrouble = () => {}, scheduleMinuteMs, accountConcurrency, containers = {} } = options;
  const random = createRandom(options.seed ?? 1);
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const server = await startApiServer(port, host);
  undo.defer(server.close);
  const urls: RunningUrls = await reserveUrls(template, host);
  undo.defer(urls.close);
  const site = {
    region: REGION,
    account: ACCOUNT,
    stackName,
    getAddress: (logicalId: string) => urls.addresses[logicalId] ?? server.address,
  };
  const deployment = buildDeployment(template, site, assets, accountConcurrency);
  const { plan, functions, api, rules, schedules, mappings, ...planned } = deployment;

  // Stops in reverse order: callers stop before the services that they call.
  const { dynamodb, storage, sendMessage } = await startBackends(plan, dir, undo, random);

  const stopping = new AbortController();
  const running = new Map<string, ReturnType<typeof runFunction>>();
  const targets = createTargets({
    plan,
    functions: running,
    sendMessage,
    logGroups: join(dir, 'log-groups'),
    forward: (busArn, event) => bus.forward(busArn, event),
    onError: onTrouble,
    signal: stopping.signal,
  });
  const bus = createBus(plan, rules, targets.deliver);
  const gateway = new Gateway({
    site,
    backends: {
      dynamodb: dynamodb.forward,
      queuesAndBuckets: storage.forward,
      putEvents: bus.putEvents,
    },
    listKeyPermissions: listKeyPermissions(plan),
    onRefusal: onTrouble,
  });
  const { address: gatewayAddress, close } = await serveGateway((request) => gateway.handle(request));
  undo.defer(close);

  const shared = new ConcurrencyPool(deployment.unreservedConcurrency);
  for (const planned of functions) {
    const logs = join(dir, 'logs');
    running.set(
      planned.name,
      runFunction(planned, { plan, gateway, gatewayAddress, logs, shared, onFailure: onTrouble }),
    );
  }
  const endFunctions = async (): Promise<void> => {
    stopping.abort();
    await Promise.all([...running.values()].map((each) => each.stop()));
  };
  undo.defer(endFunctions);

  const serving: RunningContainer[] = [];
  for (const one of planned.containers) {
    const command = containers[one.name];
    if (!command) throw new TemplateError([`nothing says how the container ${one.name} is run here`]);
    const place = { gateway, gatewayAddress, region: REGION, logs: join(dir, 'logs'), onFailure: onTrouble };
    const container = await runContainer(one, command, place);
    undo.defer(container.stop);
    serving.push(container);
  }

  const positions = new StreamPositions(join(dir, 'stream-positions.json'));
  undo.defer(() => positions.write());
  const reading = mappings.flatMap((mapping) => {
    const target = running.get(mapping.function.name);
    return target
      ? [runMapping(mapping, { site, gateway, dynamodb, positions, target, random, onError: onTrouble })]
      : [];
  });
  undo.defer(async () => {
    const tooLong = setTimeout(endFunctions, LAST_BATCH_MS);
    await Promise.all(reading.map((each) => each.stop()));
    clearTimeout(tooLong);
  });
  const clock = runSchedules(
    schedules.map((schedule) => ({
      isDue: schedule.isDue,
      fire: () => targets.invoke(schedule.targetArn, buildScheduledEvent(plan, schedule)),
    })),
    scheduleMinuteMs,
  );
  undo.defer(clock.stop);
  if (api) server.open(answerRequest(api, running, gateway.meter, serving));
  urls.open(plan, running, gateway.meter);
  undo.defer(server.close);

  const buildPlan = (nameOrLogicalId: string) => {
    const found = functions.find(({ name, logicalId }) => name === nameOrLogicalId || logicalId === nameOrLogicalId);
    if (!found) throw new Error(`There is no function ${nameOrLogicalId}`);
    return found;
  };
  return {
    address: server.address,
    urls: urls.addresses,
    gateway,
    gatewayAddress,
    region: REGION,
    account: ACCOUNT,
    outputs: plan.resolveOutputs(),
    getHighestConcurrency: () => shared.highest,
    invoke: async (name, payload) => (await running.get(buildPlan(name).name)?.invoke(payload)) ?? { ok: 'throttled' },
    findFunctionName: (ending) => functions.find(({ name }) => name.endsWith(`-${ending}`))?.name ?? ending,
    createAccessKey: (name) => buildPlan(name).accessKey,
    listUnusedGrants: () =>
      functions.flatMap(({ name, access }) =>
        access.listUnusedGrants().map((grant) => ({ functionName: name, ...grant })),
      ),
    stop: () => undo.disposeAll(),
  };
};
