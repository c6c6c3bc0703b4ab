import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { startBackends } from './backends/start-backends.ts';
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
import { runFunction } from './lambda/functions.ts';
import type { InvocationResult } from './lambda/lambda-function.ts';
import { runMapping } from './mappings/run-mapping.ts';
import { StreamPositions } from './mappings/stream-positions.ts';

export interface TemplateOptions {
  /** What `cdk synth` wrote, parsed. */
  template: unknown;
  /** The folder that the template's assets are in. */
  assets: string;
  /** Where tables, queues, buckets and logs are kept. */
  dir: string;
  port?: number;
  host?: string;
  stackName?: string;
  /** What would otherwise be seen nowhere: refused calls, failed invocations, records given up. */
  onTrouble?(line: string): void;
  /** For tests: how long a minute of the schedules lasts. */
  scheduleMinuteMs?: number;
}

export interface UnusedGrant extends Grant {
  functionName: string;
}

/** A template that runs on this machine. */
export interface RunningTemplate {
  /** Of the HTTP API. */
  address: string;
  /** Of each function URL, by its logical id. */
  urls: Record<string, string>;
  gateway: Gateway;
  /** The gateway's own address, for clients that sign with an access key of a function. */
  gatewayAddress: string;
  region: string;
  account: string;
  outputs: Record<string, unknown>;
  /** Invokes a function by its name or logical id and waits for what it returns. */
  invoke(nameOrLogicalId: string, payload: unknown): Promise<InvocationResult>;
  /** The name of the function that ends in this, after the names of product and stage. */
  findFunctionName(ending: string): string;
  /** The access key under which a function calls AWS. */
  createAccessKey(nameOrLogicalId: string): string;
  /** The grants that no call has needed so far. */
  listUnusedGrants(): UnusedGrant[];
  stop(): Promise<void>;
}

const REGION = 'us-east-1';
/** The one that the local SQS uses. */
const ACCOUNT = '000000000000';
/** So long may a function take for its last batch when all is stopped. */
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
  const { onTrouble = () => {}, scheduleMinuteMs } = options;
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
  const { plan, functions, api, rules, schedules, mappings } = buildDeployment(template, site, assets);

  // The first to start is the last to stop, and what calls others stops before them.
  const { dynamodb, storage, sendMessage } = await startBackends(plan, dir, undo);

  const stopping = new AbortController();
  const running = new Map<string, ReturnType<typeof runFunction>>();
  const targets = createTargets({ plan, functions: running, sendMessage, onError: onTrouble, signal: stopping.signal });
  const gateway = new Gateway({
    site,
    backends: {
      dynamodb: dynamodb.forward,
      queuesAndBuckets: storage.forward,
      putEvents: createBus(plan, rules, targets.deliver).putEvents,
    },
    listKeyPermissions: listKeyPermissions(plan),
    onRefusal: onTrouble,
  });
  const { address: gatewayAddress, close } = await serveGateway((request) => gateway.handle(request));
  undo.defer(close);

  for (const planned of functions) {
    const logs = join(dir, 'logs');
    running.set(planned.name, runFunction(planned, { plan, gateway, gatewayAddress, logs, onFailure: onTrouble }));
  }
  const endFunctions = async (): Promise<void> => {
    stopping.abort();
    await Promise.all([...running.values()].map((each) => each.stop()));
  };
  undo.defer(endFunctions);

  const positions = new StreamPositions(join(dir, 'stream-positions.json'));
  undo.defer(() => positions.write());
  const reading = mappings.flatMap((mapping) => {
    const target = running.get(mapping.function.name);
    return target ? [runMapping(mapping, { site, gateway, dynamodb, positions, target, onError: onTrouble })] : [];
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
  if (api) server.open(answerRequest(api, running, gateway.meter));
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
