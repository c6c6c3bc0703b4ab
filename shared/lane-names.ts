import { type Lane, PRIORITIES, type Priority } from './ports/queues.ts';

/** Nothing else waits for what is only streamed. */
export const CHUNKS_PRIORITY: Priority = 'low';

/** A lane that is a queue of its own on AWS. */
export interface LaneName extends Lane {
  /** What follows the deployment's prefix in the queue's name and in its URL. */
  suffix: string;
}

type Projects = Record<string, { domains: Record<string, unknown>; relay: boolean }>;

/** The lanes of the domains of each project, and those of its relay, if it has one. */
export const laneNames = (projects: Projects): LaneName[] =>
  Object.entries(projects).flatMap(([project, { domains, relay }]) => [
    ...Object.keys(domains).flatMap((name) => lanesOf(project, 'domain', name)),
    ...(relay ? lanesOf(project, 'relay', 'down') : []),
  ]);

const lanesOf = (project: string, kind: Lane['kind'], name: string): LaneName[] =>
  PRIORITIES.map((priority) => ({
    project,
    kind,
    name,
    priority,
    suffix: laneSuffix({ project, kind, name, priority }),
  }));

/** No name of a project or domain has an underscore, so that no domain can be taken for the relay. */
export const laneSuffix = ({ project, kind, name, priority }: Lane): string =>
  kind === 'relay' ? `${project}_relay-${priority}.fifo` : `${project}-${name}-${priority}.fifo`;
