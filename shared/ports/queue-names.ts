import { PRIORITIES, type Priority, type QueueKey } from './queues.ts';

/** Chunks must not delay anything else. */
export const CHUNK_PRIORITY: Priority = 'low';

export interface NamedQueue extends QueueKey {
  suffix: string;
}

type QueueProjects = Record<string, { domains: Record<string, unknown>; relay: boolean }>;

export const listQueues = (projects: QueueProjects): NamedQueue[] =>
  Object.entries(projects).flatMap(([project, { domains, relay }]) => [
    ...Object.keys(domains).flatMap((name) => buildQueues(project, 'domain', name)),
    ...(relay ? buildQueues(project, 'relay', 'down') : []),
  ]);

const buildQueues = (project: string, kind: QueueKey['kind'], name: string): NamedQueue[] =>
  PRIORITIES.map((priority) => ({
    project,
    kind,
    name,
    priority,
    suffix: buildQueueSuffix({ project, kind, name, priority }),
  }));

/** Names of projects and domains have no underscore, so no domain collides with the relay. */
export const buildQueueSuffix = ({ project, kind, name, priority }: QueueKey): string =>
  kind === 'relay' ? `${project}_relay-${priority}.fifo` : `${project}-${name}-${priority}.fifo`;
