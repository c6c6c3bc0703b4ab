import { defineConfig } from '../../../shared/config/config.ts';

const domains = { security: { description: 'briefings' }, home: { description: 'scenes' } };

/** Two projects with the same domains, and times that a test can wait for. */
export default defineConfig({
  projects: { default: { domains }, lab: { domains } },
  tasks: { leaseMs: 10_000 },
  agents: { heartbeatMs: 1000 },
  outbound: { allowPrivateAddresses: true },
  aws: {
    stage: 'test',
    logCalls: true,
    subscriptions: {
      finished: { types: ['task.completed'], topics: ['security.*'], queue: 'finished' },
      everything: { project: 'lab', types: ['task.*'], logGroup: 'everything' },
    },
  },
});
