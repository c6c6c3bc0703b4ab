import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ParleyOptions, type RunningParley, startParley } from '../../local/composition.ts';
import baseConfig from '../../parley.config.ts';
import type { Config } from '../../shared/config/config.ts';
import { createBodyReader } from '../../shared/http/read-body.ts';
import type { Log } from '../../shared/kernel/log.ts';
import { type Caller, callerWith, parsed, registered, type TestAgent, type Transport } from './api.ts';
import { isAsDescribed } from './described.ts';
import { TestClock } from './test-clock.ts';

/** Without a socket, hundreds of calls of one key begin in the same moment. */
const UNBOUNDED = { requests: 1e6, requestsPerKey: 1e6, bytes: 1e9, bytesPerKey: 1e9 };

const ADMIN_KEY = 'an-admin-key-for-tests';

export interface TestParley {
  admin: Caller;
  transport: Transport;
  clock: TestClock;
  dir: string;
  /** What was logged, as `level message`. */
  logged: string[];
  parley: RunningParley;
  agent(id: string, registration?: object): Promise<TestAgent>;
  /** Stops it and starts it again on the same folder. */
  restart(): Promise<void>;
}

export interface TestOptions extends Pick<ParleyOptions, 'wrapPorts'> {
  config?: Partial<Config>;
  clock?: ParleyOptions['clock'];
  log?: Log;
}

/** The whole system in this process, without a socket, on a folder of its own, with a clock that the test moves. */
export const testParley = async (
  t: { after(cleanUp: () => unknown): void },
  options: TestOptions = {},
): Promise<TestParley> => {
  const dir = mkdtempSync(join(tmpdir(), 'parley-test-'));
  const clock = new TestClock();
  const logged: string[] = [];
  const log: Log = (level, message, facts) => {
    logged.push(`${level} ${message}`);
    options.log?.(level, message, facts);
  };
  const limits = { ...baseConfig.limits, inFlight: UNBOUNDED };
  const config = { ...baseConfig, limits, ...options.config };
  const start = () =>
    startParley({
      dir,
      config,
      adminKey: ADMIN_KEY,
      log,
      clock: options.clock ?? clock,
      wrapPorts: options.wrapPorts,
    });
  let parley = await start();
  const transport: Transport = async (method, target, headers, body = '') => {
    const [path = '', query = ''] = target.split('?');
    const response = await parley.handle({
      method,
      path,
      query,
      headers,
      readBody: createBodyReader(Buffer.from(body)),
    });
    const { body: sent } = response;
    const text = sent instanceof Uint8Array ? Buffer.from(sent).toString() : typeof sent === 'string' ? sent : '';
    const reply = { status: response.status, headers: response.headers, body: parsed(text) };
    isAsDescribed(method, path, reply);
    return reply;
  };
  const admin = callerWith(transport, ADMIN_KEY);
  t.after(async () => {
    await parley.stop();
    rmSync(dir, { recursive: true });
  });
  return {
    admin,
    transport,
    clock,
    dir,
    logged,
    get parley() {
      return parley;
    },
    agent: async (id, registration) => {
      const agent = await registered(transport, admin, id, registration);
      // That a key was used and its agent seen is written with the first call: here, and in no test that counts writes.
      await agent.call('GET', '/v1/whoami');
      return agent;
    },
    restart: async () => {
      await parley.stop();
      parley = await start();
    },
  };
};
