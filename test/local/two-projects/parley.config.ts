import { defineConfig } from '../../../shared/config/config.ts';

/** Two projects on one machine, whose agents on NATS have different domains. */
export default defineConfig({
  projects: {
    default: { domains: { security: { description: 'briefings' } }, relay: true },
    camelot: { domains: { intel: { description: 'news' } }, relay: true },
    'far-away': { domains: {} },
  },
});
