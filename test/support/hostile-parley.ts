import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { startParley } from '../../local/composition.ts';
import baseConfig from '../../parley.config.ts';
import { createBodyReader } from '../../shared/http/read-body.ts';
import type { Ports } from '../../shared/ports/ports.ts';
import { callerWith, parsed, type Reply, registered, type TestAgent, type Transport } from './api.ts';
import { eventually } from './eventually.ts';
import { hostileFollower } from './hostile-follower.ts';
import { hostilePorts, type Random } from './hostile-ports.ts';
import { TestClock } from './test-clock.ts';

const ADMIN_KEY = 'an-admin-key-for-tests';
/** Time runs about a hundred times as fast as it does outside, and more slowly where the machine is slow. */
const TICK_MS = 100;
/** Sending again what waits for long would hide that a message was lost; nothing may need it. */
const NEVER_MS = 30 * 86_400_000;

export interface HostileParley {
  /** The engine as it really is. */
  truth: Ports;
  admin: { call(method: string, path: string, body?: unknown): Promise<Reply> };
  agent(id: string): Promise<TestAgent>;
  /** What was logged as an error. */
  errors: string[];
}

/** The whole system on an engine that does everything that it may, in a time that runs by itself. */
export const hostileParley = async (t: TestContext, random: Random): Promise<HostileParley> => {
  const dir = mkdtempSync(join(tmpdir(), 'parley-hostile-'));
  const clock = new TestClock();
  const errors: string[] = [];
  const inner: Ports[] = [];
  const parley = await startParley({
    dir,
    adminKey: ADMIN_KEY,
    clock,
    config: {
      ...baseConfig,
      tasks: { ...baseConfig.tasks, leaseMs: 20_000, requeueMs: NEVER_MS, maxAttempts: 5 },
      turns: { ...baseConfig.turns, heartbeatTimeoutMs: 60_000 },
    },
    log: (level, message, facts) => level === 'error' && errors.push(`${message} ${JSON.stringify(facts)}`),
    wrapPorts: (ports) => {
      inner.push(ports);
      return hostilePorts(ports, random);
    },
    wrapHandler: (changes) => hostileFollower(changes, random),
  });
  const [truth] = inner;
  if (!truth) throw new Error('nothing went through');
  const running = new AbortController();
  const ticking = (async () => {
    for (; !running.signal.aborted; await pause(1)) clock.advance(TICK_MS);
  })();
  t.after(async () => {
    const stopped = parley.stop();
    running.abort();
    await Promise.all([stopped, ticking]);
    rmSync(dir, { recursive: true });
  });
  const transport: Transport = async (method, target, headers, body = '') => {
    const [path = '', query = ''] = target.split('?');
    const response = await parley.handle({
      method,
      path,
      query,
      headers,
      readBody: createBodyReader(Buffer.from(body)),
    });
    return {
      status: response.status,
      headers: response.headers,
      body: parsed(typeof response.body === 'string' ? response.body : ''),
    };
  };
  const admin = callerWith(transport, ADMIN_KEY);
  return { truth, admin, errors, agent: (id) => eventually(() => registered(transport, admin, id)) };
};
