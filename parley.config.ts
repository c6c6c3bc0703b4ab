import { defineConfig } from './shared/config/config.ts';

/** The topics that this deployment knows: `roundtable.tasks.<domain>.<action>` goes to the queues of its domain. */
export default defineConfig({
  projects: {
    default: {
      domains: {
        security: { description: 'briefings, CVE analysis, threat scans, incidents' },
        comms: { description: 'email triage and drafts, notifications' },
        intel: { description: 'weather, news, markets, research' },
        observability: { description: 'health, alerts, capacity' },
        home: { description: 'scenes, status, automation' },
      },
      // Agents on NATS may take part. A domain that they serve says so: security: { description: '…', via: 'nats' }
      relay: true,
    },
  },
  dialects: { 'round-table': { version: '1.0' } },
  // For `cdk deploy`: shared/config/aws-config.ts says what else can be set. Two stages are two deployments.
  aws: { stage: 'dev' },
  // Who reads events with a cursor of its own. Administrators may, and the agents that it names: agents: ['galahad']
  consumers: { observer: { types: ['evt.*'] } },
  // Times and limits have defaults, all of them in shared/config/config.ts. To change one: tasks: { leaseMs: 60_000 }
});
