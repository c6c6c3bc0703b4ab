import type { Config } from '../config.ts';
import { dialects } from '../dialects/dialects.ts';
import { sendSubject } from './nats-message.ts';
import type { Plan, Stream } from './plan.ts';

const DAY_SECONDS = 86_400;

export const planFor = (project: string, config: Config): Plan => {
  const own = dialects.flatMap(({ onNats }) => onNats ?? []);
  const general: Stream = {
    name: `PARLEY_${project}`,
    subjects: [sendSubject(project), `parley.${project}.*.inbox`],
    retention: 'limits',
    storage: 'file',
    maxAgeSeconds: 7 * DAY_SECONDS,
  };
  const dead: Stream = {
    name: 'PARLEY_DEAD',
    subjects: ['parley.dead.>'],
    retention: 'limits',
    storage: 'file',
    maxAgeSeconds: 30 * DAY_SECONDS,
  };
  return {
    project,
    streams: [...own.flatMap(({ streams }) => streams), general, dead],
    sources: [
      ...own.flatMap(({ sources }) => sources(project, config)),
      { stream: general.name, durable: `parley-${project}-send`, filter: sendSubject(project) },
    ],
  };
};
