import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createWriteStream, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Gateway } from '../gateway/gateway.ts';
import type { ResourceGraph } from '../graph.ts';
import { findFreePort } from '../http/listen.ts';
import type { RoleAccess } from '../iam/role-access.ts';
import { canAssume } from '../iam/roles.ts';
import { Service, TaskDefinition } from '../resources/containers.ts';

/** How the container of each name is run: there is no Docker here. */
export type ContainerCommands = Readonly<Record<string, readonly string[]>>;

export interface PlannedContainer {
  name: string;
  /** By which an integration finds it. */
  registries: string[];
  access: RoleAccess;
  env: Record<string, string>;
}

/** One task of each service. */
export const parseContainers = (plan: ResourceGraph, roles: ReadonlyMap<string, RoleAccess>): PlannedContainer[] => {
  const tasks = plan.listResources(TaskDefinition);
  return plan.listResources(Service).flatMap(({ logicalId, properties }) => {
    const task = tasks.find(({ ref }) => ref === properties.TaskDefinition)?.properties;
    const access = task && roles.get(task.TaskRoleArn);
    if (!access || !canAssume(plan, task.TaskRoleArn, 'ecs-tasks.amazonaws.com')) {
      plan.mistakes.add(logicalId, 'its task has no role that ECS may assume');
      return [];
    }
    if (properties.DesiredCount === 0) return [];
    const [{ Name: name, Environment: variables }] = task.ContainerDefinitions;
    const env = Object.fromEntries(variables.map(({ Name, Value }) => [Name, Value]));
    return [{ name, registries: properties.ServiceRegistries.map(({ RegistryArn }) => RegistryArn), access, env }];
  });
};

export interface RunningContainer {
  name: string;
  registries: string[];
  address: string;
  stop(): Promise<void>;
}

interface ContainerSite {
  gateway: Gateway;
  gatewayAddress: string;
  region: string;
  logs: string;
  onFailure(line: string): void;
}

const START_MS = 30_000;
const ASK_EVERY_MS = 50;
const STOP_MS = 30_000;

/** A process with the variables and the role of the container. It listens where `WAITER_PORT` and its like say. */
export const runContainer = async (
  { name, registries, access, env }: PlannedContainer,
  command: readonly string[],
  { gateway, gatewayAddress, region, logs, onFailure }: ContainerSite,
): Promise<RunningContainer> => {
  const accessKey = `ASIA${randomBytes(8).toString('hex').toUpperCase()}`;
  gateway.addCaller(accessKey, { name, access });
  const port = await findFreePort();
  const prefix = name.toUpperCase();
  const own = Object.entries(env).map(([key, value]) => [
    key,
    value.replace(`https://sqs.${region}.amazonaws.com/`, `${gatewayAddress}/`),
  ]);
  const [program = '', ...args] = command;
  const child = spawn(program, args, {
    env: {
      ...Object.fromEntries(own),
      PATH: process.env.PATH,
      [`${prefix}_PORT`]: String(port),
      [`${prefix}_HOST`]: '127.0.0.1',
      AWS_REGION: region,
      AWS_ACCESS_KEY_ID: accessKey,
      AWS_SECRET_ACCESS_KEY: 'local',
      AWS_SESSION_TOKEN: 'local',
      AWS_ENDPOINT_URL: gatewayAddress,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  mkdirSync(logs, { recursive: true, mode: 0o700 });
  const file = createWriteStream(join(logs, `${name}.log`), { flags: 'a', mode: 0o600 });
  child.stdout.pipe(file, { end: false });
  child.stderr.pipe(file, { end: false });
  let isStopping = false;
  const ended = once(child, 'exit').then(([code]) => {
    if (!isStopping) onFailure(`the container ${name} ended with ${code}: its log is ${file.path}`);
  });
  const address = `http://127.0.0.1:${port}`;
  const stop = async (): Promise<void> => {
    isStopping = true;
    child.kill('SIGTERM');
    const tooLong = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
    await ended;
    clearTimeout(tooLong);
    file.end();
  };
  await untilHealthy(child, address, name).catch(async (error) => {
    await stop();
    throw error;
  });
  return { name, registries, address, stop };
};

const untilHealthy = async (child: ChildProcess, address: string, name: string): Promise<void> => {
  const until = Date.now() + START_MS;
  while (child.exitCode === null && Date.now() < until) {
    const answer = await fetch(`${address}/healthz`).catch(() => undefined);
    if (answer?.ok) return;
    await new Promise((resolve) => setTimeout(resolve, ASK_EVERY_MS));
  }
  throw new Error(`the container ${name} is not healthy`);
};
