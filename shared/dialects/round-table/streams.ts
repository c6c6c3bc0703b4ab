import { DEFAULT_ROUND_TABLE_SUBJECTS, type RoundTableSubjects } from '../../config/dialect-settings.ts';
import type { StreamSpec } from '../../nats/relay-plan.ts';
import type { NatsSite } from '../nats-binding.ts';
import { ROUND_TABLE } from './name.ts';

const DAY_SECONDS = 86_400;
const MIB = 1024 * 1024;

export const getSubjects = ({ project, config }: NatsSite): RoundTableSubjects =>
  config.dialects[ROUND_TABLE].nats[project] ?? DEFAULT_ROUND_TABLE_SUBJECTS;

export const buildStreamSpecs = (site: NatsSite): Record<keyof RoundTableSubjects['streams'], StreamSpec> => {
  const { prefix, streams, tasksRetention } = getSubjects(site);
  const limits = { retention: 'limits', storage: 'file' } as const;
  return {
    tasks: {
      ...limits,
      name: streams.tasks,
      subjects: [`${prefix}.tasks.>`],
      retention: tasksRetention,
      maxAgeSeconds: DAY_SECONDS,
      maxMessageBytes: MIB,
    },
    results: {
      ...limits,
      name: streams.results,
      subjects: [`${prefix}.results.>`],
      maxAgeSeconds: 7 * DAY_SECONDS,
      maxMessageBytes: 4 * MIB,
    },
    events: {
      ...limits,
      name: streams.events,
      subjects: [`${prefix}.events.>`],
      maxAgeSeconds: 30 * DAY_SECONDS,
      maxMessageBytes: MIB,
    },
    heartbeat: {
      ...limits,
      name: streams.heartbeat,
      subjects: [`${prefix}.heartbeat.>`],
      storage: 'memory',
      maxAgeSeconds: 3600,
      maxPerSubject: 5,
    },
    broadcast: {
      ...limits,
      name: streams.broadcast,
      subjects: [`${prefix}.broadcast.>`],
      maxAgeSeconds: 7 * DAY_SECONDS,
      maxMessageBytes: MIB,
    },
  };
};
