import { defineConfig } from '../../../shared/config/config.ts';

/** A new account, in which ten functions run at the same time. */
export default defineConfig({
  projects: { default: { domains: { security: { description: 'briefings' } } } },
  agents: { heartbeatMs: 1000 },
  aws: { stage: 'test', concurrency: 10 },
});
