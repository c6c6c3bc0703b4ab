import { hash } from 'node:crypto';
import type { Fairness } from '../../ports/queues.ts';
import { getDomain, PRIORITIES, type QueueKey, type QueueMessage } from '../../ports/queues.ts';

/** As it is stored. Each of those who share a queue has a lane of it, with a name of its own. */
export const formatQueueName = ({ project, kind, name, priority }: QueueKey, lane = ''): string =>
  `${project}/${kind}/${name}${lane === '' && !(name.includes('~') && ENDS_AS_LANE.test(name)) ? '' : `/~${lane}`}/${priority}`;

const ENDS_AS_LANE = /(?:^|\/)~[^/]*$/;
const QUEUE_NAME =
  /^(?<project>[^/]*)\/(?<kind>domain|agent|capability|relay)\/(?<name>.*?)(?:\/~(?<lane>[^/]*))?\/(?<priority>[^/]*)$/s;
const QUEUE_KINDS = ['domain', 'agent', 'capability', 'relay'] as const;

export const parseQueueName = (name: string): { queueKey: QueueKey; lane: string } => {
  const parts = QUEUE_NAME.exec(name)?.groups ?? {};
  const priority = PRIORITIES.find((known) => known === parts.priority);
  const kind = QUEUE_KINDS.find((known) => known === parts.kind);
  if (!priority || !kind) throw new Error(`${name} is not the name of a queue`);
  return { queueKey: { project: parts.project ?? '', kind, name: parts.name ?? '', priority }, lane: parts.lane ?? '' };
};

export const getDomainQueueName = ({ project, kind, name, priority }: QueueKey): string | undefined => {
  const domain = kind === 'capability' ? getDomain(name) : undefined;
  return domain === undefined ? undefined : formatQueueName({ project, kind: 'domain', name: domain, priority });
};

const PLAIN_LANE = /^[\w.-]{1,64}$/;

/** Conversations are called anything. */
export const toLane = ({ share }: Pick<QueueMessage, 'share'>, fairness: Fairness): string => {
  if (!share || fairness === 'none') return '';
  const name = fairness === 'conversation' ? (share.conversation ?? share.requester) : share.requester;
  return PLAIN_LANE.test(name) ? name : hash('sha256', name, 'base64url').slice(0, 16);
};
