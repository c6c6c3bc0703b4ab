import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { startParley } from '../../../local/composition.ts';
import { type Config, defineConfig } from '../../../shared/config/config.ts';
import { toMs } from '../src/duration.ts';
import { connect, type Json } from '../src/index.ts';
import type { StartTestParley, TestAgentOptions, TestParley } from '../src/testing-types.ts';
import { createMemoryFetch } from './memory-fetch.ts';
import { TestClock } from './test-clock.ts';

export type { StartTestParley, TestAgentOptions, TestParley, TestParleyOptions } from '../src/testing-types.ts';

/** In memory, where the system has such a folder. */
const MEMORY = '/dev/shm';
const ADMIN_KEY = 'an-admin-key-for-tests';
const URL = 'http://parley.test';
/** In which everything that is due at the new time has begun. */
const TURNS_AFTER_ADVANCE = 20;

export const startTestParley: StartTestParley = async ({ config: overrides = {} } = {}) => {
  const dir = mkdtempSync(join(existsSync(MEMORY) ? MEMORY : tmpdir(), 'parley-test-'));
  const clock = new TestClock(Date.now());
  const domains = new Set<string>();
  const parley = await startParley({
    dir,
    config: buildConfig(domains, overrides),
    adminKey: ADMIN_KEY,
    log: () => {},
    clock,
  });
  const fetch = createMemoryFetch(parley.handle, () => clock.now());
  const admin = connect({ url: URL, key: ADMIN_KEY, fetch });
  const addDomains = (capabilities: string[]): void => {
    for (const capability of capabilities) {
      const [domain, action] = capability.split('.');
      if (domain && action) domains.add(domain);
    }
    parley.setConfig(buildConfig(domains, overrides));
  };
  const stop = async (): Promise<void> => {
    await parley.stop();
    rmSync(dir, { recursive: true, force: true });
  };
  return {
    admin,
    agent: async (name, { capabilities = [], dialect = 'native', registration, connection }: TestAgentOptions = {}) => {
      addDomains(capabilities);
      const path = `/v1/agents/${encodeURIComponent(name)}`;
      await admin.call('PUT', path, { body: { dialect, capabilities, ...registration } });
      const { key } = await admin.call<{ key: string }>('POST', `${path}/key`);
      return connect({ ...connection, url: URL, key, fetch });
    },
    now: () => clock.now(),
    advance: async (time) => {
      clock.advance(toMs(time));
      for (let turn = 0; turn < TURNS_AFTER_ADVANCE; turn++) await nextTurn();
    },
    stop,
  } satisfies TestParley;
};

const buildConfig = (domains: ReadonlySet<string>, overrides: Record<string, Json>): Config =>
  defineConfig({
    projects: {
      default: { domains: Object.fromEntries([...domains].map((domain) => [domain, { description: 'of a test' }])) },
    },
    ...overrides,
  });
