import type { styleText } from 'node:util';

type Style = Parameters<typeof styleText>[0];

interface Event {
  type: string;
  // biome-ignore lint/suspicious/noExplicitAny: its fields depend on the type
  data: any;
}

const WIDTH = 11;
const name = (agent: unknown): string => String(agent ?? 'someone').padEnd(WIDTH);

const WORK: Record<string, string> = {
  'agent-os.query': 'an answer',
  'message-routing.task-delegation': 'a delegation',
  calculator: 'a calculation',
};
const toWork = (capability: unknown): string => WORK[String(capability)] ?? String(capability);

/** A message of CommonGround names the agent in its subject. */
const toAgent = (subject: unknown): string | undefined => /\.agent\.([^.]+)\./.exec(String(subject))?.[1];

/** One line, or none for what would only be noise. */
const LINES: Record<string, (data: Event['data']) => [text: string, style: Style] | undefined> = {
  'task.requested': ({ from, capability, to }) => [
    `${name(from)} asks ${to ?? 'whoever can'} for ${toWork(capability)}`,
    'reset',
  ],
  'task.input_required': ({ agent, from, capability }) => [
    `${name(agent)} has a question to ${from} about ${toWork(capability)}: answer it in the console`,
    'yellow',
  ],
  'task.input_given': ({ agent, from, capability }) => [
    `${name(agent ?? from)} has the answer about ${toWork(capability)}`,
    'yellow',
  ],
  'task.retrying': ({ agent, capability }) => [
    `${name(agent)} failed with ${toWork(capability)}, and it is tried again`,
    'magenta',
  ],
  'task.failed': ({ agent, capability }) => [
    `${name(agent)} failed with ${toWork(capability)} for good: a dead letter`,
    'red',
  ],
  'task.expired': ({ from, capability }) => [`${name(from)} waited in vain for ${toWork(capability)}`, 'red'],
  'task.cancelled': ({ from, capability }) => [`${name(from)} no longer needs ${toWork(capability)}`, 'magenta'],
  'task.completed': ({ agent, capability }) => [`${name(agent)} completed ${toWork(capability)}`, 'green'],
  'graph.ended': ({ from, status }) => [`${name(from)} has all of a graph: ${status}`, 'cyan'],
  'agent.paused': ({ agent }) => [`${name(agent)} takes a break`, 'blue'],
  'agent.resumed': ({ agent }) => [`${name(agent)} is back at work`, 'blue'],
  'evt.agent.task': ({ subject, payload }) => [`${name(toAgent(subject))} ended a turn: ${payload?.status}`, 'cyan'],
};

export const tellEvent = ({ type, data }: Event): { text: string; style: Style } | undefined => {
  const [text, style] = LINES[type]?.(data) ?? [];
  return text === undefined || style === undefined ? undefined : { text, style };
};
