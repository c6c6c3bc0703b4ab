import type { Config } from '../../config/config.ts';
import type { NatsDescription } from '../nats-binding.ts';
import { getSubjects } from './streams.ts';

/** Where projects differ in it, it is a parameter. */
const getPrefix = (config: Config): string => {
  const all = Object.keys(config.projects).map((project) => getSubjects({ project, config }).prefix);
  const [prefix = '', ...others] = new Set(all);
  return others.length === 0 ? prefix : '{prefix}';
};

export const describeRoundTable = (config: Config): NatsDescription => ({ channels: buildChannels(getPrefix(config)) });

const buildChannels = (prefix: string): NatsDescription['channels'] => ({
  roundTableTasks: {
    address: `${prefix}.tasks.{domain}.{action}`,
    summary: 'Tasks: sent for domains that are served on-prem, received for all others',
    actions: ['send', 'receive'],
  },
  roundTableResults: {
    address: `${prefix}.results.{domain}.{taskId}`,
    summary: 'Results and failures',
    actions: ['send', 'receive'],
  },
  roundTableClaimed: {
    address: `${prefix}.events.task.claimed`,
    summary: 'Claims',
    actions: ['send', 'receive'],
  },
  roundTableProgress: {
    address: `${prefix}.events.task.progress`,
    summary: 'Progress',
    actions: ['send', 'receive'],
  },
  roundTableRejected: {
    address: `${prefix}.events.task.claim-rejected`,
    summary: 'Claims and reports that came too late',
    actions: ['send'],
    isNotice: true,
  },
  roundTablePresence: {
    address: `${prefix}.events.system.{presence}`,
    summary: 'knight-online and knight-offline',
    actions: ['send'],
    isNotice: true,
  },
  roundTableHeartbeat: {
    address: `${prefix}.heartbeat.{agent}`,
    summary: 'Heartbeats',
    actions: ['receive'],
  },
  roundTableBroadcast: {
    address: `${prefix}.broadcast.{kind}`,
    summary: 'config-update, maintenance and alert, for all agents',
    actions: ['send', 'receive'],
  },
});
