import { resolve } from 'node:path';
import { z } from 'zod';
import {
  type App,
  loadOrSynthesize,
  type Reading,
  type RunningTemplate,
  startTemplate,
} from '../../local/cloudformation-runner/index.ts';
import { Connection } from '../connection.ts';
import { DECLARED } from '../wire.ts';
import { type Logged, readLogged } from './log-lines.ts';

export const ROOT = resolve(import.meta.dirname, '../..');

const ADMIN_KEY = 'the-admin-key-of-the-bench';
/** The sweep must not run during a measurement; it is measured alone. */
const NEVER_MS = 24 * 3_600_000;

export interface Agent {
  id: string;
  connect(): Connection;
}

export interface Site {
  running: RunningTemplate;
  requester: Agent;
  worker: Agent;
  logged(): Logged;
  stop(): Promise<void>;
}

export const startSite = async (dir: string, app?: App): Promise<Site> => {
  const { template, assets } = await loadOrSynthesize(ROOT, (line) => console.error(line), app);
  let isStopping = false;
  const onTrouble = (line: string): void => {
    if (!isStopping) console.error(`  trouble: ${line}`);
  };
  const running = await startTemplate({ template, assets, dir, scheduleMinuteMs: NEVER_MS, onTrouble });
  const { port } = new URL(running.address);
  await setAdminKey(running);
  const agent = async (id: string): Promise<Agent> => {
    const key = await registered(running.address, id);
    return { id, connect: () => new Connection(Number(port), key) };
  };
  return {
    running,
    requester: await agent('requester'),
    worker: await agent('worker'),
    logged: () => readLogged(dir),
    stop: () => {
      isStopping = true;
      return running.stop();
    },
  };
};

const setAdminKey = async (running: RunningTemplate): Promise<void> => {
  const set = await running.invoke(running.findFunctionName('admin-key'), { key: ADMIN_KEY });
  if (set.ok !== true) throw new Error(`the admin key could not be set: ${JSON.stringify(set)}`);
};

/** A site restarted on the same folder has the agent already; it gets a new key. */
const registered = async (address: string, id: string): Promise<string> => {
  const headers = { authorization: `Bearer ${ADMIN_KEY}` };
  const registration = JSON.stringify({ dialect: 'round-table', ...DECLARED });
  const put = await fetch(`${address}/v1/agents/${id}`, { method: 'PUT', headers, body: registration });
  if (!put.ok) throw new Error(`${id} could not be registered: ${await put.text()}`);
  const rotated = await fetch(`${address}/v1/agents/${id}/key`, { method: 'POST', headers });
  return Key.parse(await rotated.json()).key;
};

const Key = z.object({ key: z.string() });

export const metered = async (site: Site, work: () => Promise<void>): Promise<Reading> => {
  const { meter } = site.running.gateway;
  meter.reset();
  meter.isOn = true;
  try {
    await work();
    return meter.read();
  } finally {
    meter.isOn = false;
  }
};
