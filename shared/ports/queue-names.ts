import { PRIORITIES, type Priority, type QueueKey } from './queues.ts';

/** Nothing else waits for what is only streamed. */
export const CHUNK_PRIORITY: Priority = 'low';

/** A lane that is a queue of its own on AWS. */
export interface NamedQueue extends QueueKey {
  /** What follows the deployment's prefix in the queue's name and in its URL. */
  suffix: string;
}

type QueueProjects = Record<string, { domains: Record<string, unknown>; relay: boolean }>;

/** The lanes of the domains of each project, and those of its relay, if it has one. */
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

/** No name of a project or domain has an underscore, so that no domain can be taken for the relay. */
export const buildQueueSuffix = ({ project, kind, name, priority }: QueueKey): string =>
  kind === 'relay' ? `${project}_relay-${priority}.fifo` : `${project}-${name}-${priority}.fifo`;
