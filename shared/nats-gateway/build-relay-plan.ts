import type { Config } from '../config/config.ts';
import { DIALECTS } from '../dialects/registry.ts';
import { formatSendSubject } from '../nats/nats-message.ts';
import type { RelayPlan, StreamSpec } from '../nats/relay-plan.ts';

const DAY_SECONDS = 86_400;

export const buildRelayPlan = (project: string, config: Config): RelayPlan => {
  const own = DIALECTS.flatMap(({ natsBinding }) => natsBinding ?? []);
  const about = { project, config };
  const general: StreamSpec = {
    name: `PARLEY_${project}`,
    subjects: [formatSendSubject(project), `parley.${project}.*.inbox`],
    retention: 'limits',
    storage: 'file',
    maxAgeSeconds: 7 * DAY_SECONDS,
  };
  const dead: StreamSpec = {
    name: 'PARLEY_DEAD_LETTERS',
    subjects: ['parley.dead-letters.>'],
    retention: 'limits',
    storage: 'file',
    maxAgeSeconds: 30 * DAY_SECONDS,
  };
  return {
    project,
    streams: [...own.flatMap(({ listStreams }) => listStreams(about)), general, dead],
    sources: [
      ...own.flatMap(({ listSources }) => listSources(about)),
      { stream: general.name, durable: `parley-${project}-send`, filter: formatSendSubject(project) },
    ],
    unread: own.flatMap(({ listUnreadSources }) => listUnreadSources?.(about) ?? []),
  };
};
