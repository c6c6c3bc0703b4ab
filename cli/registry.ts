import type { Command } from './command.ts';

interface CommandEntry {
  summary: string;
  /** Loaded when it runs: `--help` alone needs none of them. */
  load: () => Promise<Record<string, Command>>;
}

const tasks = () => import('./commands/tasks.ts');
const agents = () => import('./commands/agents.ts');
const deadLetters = () => import('./commands/dead-letters.ts');
const queues = () => import('./commands/queues.ts');
const limits = () => import('./commands/limits.ts');
const keys = () => import('./commands/keys.ts');
const storage = () => import('./commands/storage.ts');
const profiles = () => import('./commands/profiles.ts');
const messages = () => import('./commands/messages.ts');
const schedules = () => import('./commands/schedules.ts');
const webhooks = () => import('./commands/webhooks.ts');
const operations = () => import('./commands/operations.ts');

export const COMMANDS: Record<string, CommandEntry> = {
  up: { summary: 'Start a server on this machine', load: () => import('./commands/up.ts') },
  status: {
    summary: 'Show whether Parley answers, its agents and its tasks',
    load: () => import('./commands/status.ts'),
  },
  doctor: {
    summary: 'Check this machine and the deployment, and say what to do',
    load: () => import('./commands/doctor.ts'),
  },
  queues: { summary: 'Show what waits in each queue, since when, and what is in flight', load: queues },
  'queues pause': { summary: 'Hand out no more tasks of a queue; those in flight go on', load: queues },
  'queues resume': { summary: 'Hand out the tasks of a queue again', load: queues },
  'limits list': { summary: 'List the limits of tasks: how many run, and how many wait', load: limits },
  'limits get': { summary: 'Show one limit, and the tasks that have its places', load: limits },
  'limits set': { summary: 'Set how many tasks of a key run at once, or start in a window', load: limits },
  'limits remove': { summary: 'Remove a limit that an operator set', load: limits },
  send: { summary: 'Request a task', load: () => import('./commands/send.ts') },
  work: { summary: 'Do tasks with any program: JSON in, JSON out', load: () => import('./commands/work.ts') },
  'tasks list': { summary: 'List tasks, newest first', load: tasks },
  'tasks get': { summary: 'Show one task with its timeline', load: tasks },
  'tasks watch': { summary: 'Follow a task until it ends', load: tasks },
  'tasks cancel': { summary: 'Cancel tasks, by their ids or all that a filter matches', load: tasks },
  'tasks retry': {
    summary: 'Run failed or expired tasks once more, by their ids or all that a filter matches',
    load: tasks,
  },
  'tasks rerun': { summary: 'Run a task that has ended again, as a new task', load: tasks },
  'tasks answer': { summary: 'Answer what the holder of a task asks', load: tasks },
  'dead-letters list': { summary: 'List the tasks that failed for good', load: deadLetters },
  'dead-letters retry': {
    summary: 'Run dead letters once more: these, all that a filter matches, or the newest',
    load: deadLetters,
  },
  'operations list': { summary: 'List what was cancelled or retried by a filter, newest first', load: operations },
  'operations watch': { summary: 'Follow a bulk operation until it ends', load: operations },
  'operations stop': { summary: 'Stop a bulk operation; what is changed stays changed', load: operations },
  'schedules list': { summary: 'List schedules with their next run', load: schedules },
  'schedules get': { summary: 'Show a schedule with its next runs', load: schedules },
  'schedules put': {
    summary: 'Request a task at times of a calendar, or change such a schedule',
    load: schedules,
  },
  'schedules pause': { summary: 'Request no more tasks of a schedule', load: schedules },
  'schedules resume': {
    summary: 'Request the tasks of a schedule again; what was missed is not made up for',
    load: schedules,
  },
  'schedules run': { summary: 'Request the task of a schedule now, beside its times', load: schedules },
  'schedules remove': { summary: 'Remove a schedule; the tasks that it has requested stay', load: schedules },
  'agents list': { summary: 'List the agents with their health', load: agents },
  'agents add': { summary: 'Register an agent and make a key for it', load: agents },
  'agents remove': { summary: 'Remove an agent', load: agents },
  'agents pause': { summary: 'Give an agent no new tasks; it goes on with those that it holds', load: agents },
  'agents resume': { summary: 'Give an agent tasks again', load: agents },
  'agents drain': { summary: 'Let an agent finish what it holds before it ends', load: agents },
  'keys list': { summary: 'List the keys of operators and relays, or those of an agent', load: keys },
  'keys add': { summary: 'Make a key for an operator, or one more for an agent', load: keys },
  'keys rotate': { summary: 'Replace a key', load: keys },
  'keys revoke': { summary: 'End a key', load: keys },
  inbox: { summary: 'Read the inbox of an agent', load: () => import('./commands/inbox.ts') },
  'events tail': { summary: 'Follow the event log', load: () => import('./commands/events.ts') },
  'webhooks list': { summary: 'List webhooks', load: webhooks },
  'webhooks put': {
    summary: 'Send events to an address, or change how; the secret is printed once',
    load: webhooks,
  },
  'webhooks test': { summary: 'Send a test to a webhook now, and say how it was answered', load: webhooks },
  'webhooks deliveries': {
    summary: 'List what was sent to a webhook in the last 7 days, newest first',
    load: webhooks,
  },
  'webhooks remove': { summary: 'Remove a webhook; what waits for it is not sent', load: webhooks },
  'bridge files': {
    summary: 'Connect agents that exchange files, as the document of Message Routing has it',
    load: () => import('./commands/bridge.ts'),
  },
  mcp: {
    summary: 'Serve MCP on standard input and output, for hosts without remote servers',
    load: () => import('./commands/mcp.ts'),
  },
  validate: { summary: 'Say which dialect a message is, and what is wrong with it', load: messages },
  translate: { summary: 'Show a request as another dialect has it', load: messages },
  'records get': {
    summary: 'Show stored records by their key, decoded: of a data folder with a running server, or of a table on AWS',
    load: storage,
  },
  backup: {
    summary: 'Copy a data folder into a new one, while its server runs or while it does not',
    load: storage,
  },
  restore: { summary: 'Make a data folder from a backup', load: storage },
  'config check': {
    summary: 'Say what is wrong with a configuration, without a server',
    load: () => import('./commands/config.ts'),
  },
  'profiles list': { summary: 'List the deployments that this computer knows', load: profiles },
  'profiles add': { summary: 'Add a deployment, and use it from now on', load: profiles },
  'profiles use': { summary: 'Use another deployment', load: profiles },
  'profiles remove': { summary: 'Forget a deployment', load: profiles },
  completion: { summary: 'Print the completion script of a shell', load: () => import('./commands/completion.ts') },
};

export const loadCommand = async (name: string): Promise<Command> => {
  const commands: Command[] = Object.values((await COMMANDS[name]?.load()) ?? {});
  const command = commands.find((one) => one.name === name);
  if (!command) throw new Error(`The command ${name} is not there.`);
  return command;
};
