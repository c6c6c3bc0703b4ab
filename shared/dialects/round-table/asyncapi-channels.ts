import type { NatsDescription } from '../nats-binding.ts';

export const roundTableChannels: NatsDescription = {
  channels: {
    roundTableTasks: {
      address: 'roundtable.tasks.{domain}.{action}',
      summary: 'Tasks: sent for domains that are served on-prem, received for all others',
      actions: ['send', 'receive'],
    },
    roundTableResults: {
      address: 'roundtable.results.{domain}.{taskId}',
      summary: 'Results and failures',
      actions: ['send', 'receive'],
    },
    roundTableClaimed: {
      address: 'roundtable.events.task.claimed',
      summary: 'Claims',
      actions: ['send', 'receive'],
    },
    roundTableProgress: {
      address: 'roundtable.events.task.progress',
      summary: 'Progress',
      actions: ['send', 'receive'],
    },
    roundTableRejected: {
      address: 'roundtable.events.task.claim-rejected',
      summary: 'Claims and reports that came too late',
      actions: ['send'],
      isNotice: true,
    },
    roundTablePresence: {
      address: 'roundtable.events.system.{presence}',
      summary: 'knight-online and knight-offline',
      actions: ['send'],
      isNotice: true,
    },
    roundTableHeartbeat: {
      address: 'roundtable.heartbeat.{agent}',
      summary: 'Heartbeats',
      actions: ['receive'],
    },
    roundTableBroadcast: {
      address: 'roundtable.broadcast.{kind}',
      summary: 'config-update, maintenance and alert, for all agents',
      actions: ['send', 'receive'],
    },
  },
};
