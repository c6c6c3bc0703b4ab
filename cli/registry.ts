import type { Command } from './command.ts';

interface CommandEntry {
  summary: string;
  /** Loaded when it runs: `--help` alone needs none of them. */
  load: () => Promise<Record<string, Command>>;
}

const tasks = () => import('./commands/tasks.ts');
const agents = () => import('./commands/agents.ts');
const deadLetters = () => import('./commands/dead-letters.ts');
const profiles = () => import('./commands/profiles.ts');
const messages = () => import('./commands/messages.ts');
const system = () => import('./commands/system.ts');

export const COMMANDS: Record<string, CommandEntry> = {
  up: { summary: 'Start a server on this machine', load: system },
  status: { summary: 'Show whether Parley answers, its agents and its tasks', load: system },
  doctor: { summary: 'Check this machine and the deployment, and say what to do', load: system },
  send: { summary: 'Request a task', load: () => import('./commands/send.ts') },
  work: { summary: 'Do tasks with any program: JSON in, JSON out', load: () => import('./commands/work.ts') },
  'tasks list': { summary: 'List tasks, newest first', load: tasks },
  'tasks get': { summary: 'Show one task with its timeline', load: tasks },
  'tasks watch': { summary: 'Follow a task until it ends', load: tasks },
  'tasks cancel': { summary: 'Cancel tasks', load: tasks },
  'tasks retry': { summary: 'Run failed or expired tasks once more', load: tasks },
  'tasks answer': { summary: 'Answer what the holder of a task asks', load: tasks },
  'dead-letters list': { summary: 'List the tasks that failed for good', load: deadLetters },
  'dead-letters retry': { summary: 'Run dead letters once more', load: deadLetters },
  'agents list': { summary: 'List the agents with their health', load: agents },
  'agents add': { summary: 'Register an agent and make a key for it', load: agents },
  'agents remove': { summary: 'Remove an agent', load: agents },
  'keys rotate': { summary: 'Make a new key for an agent; the old one ends', load: agents },
  inbox: { summary: 'Read the inbox of an agent', load: () => import('./commands/inbox.ts') },
  'events tail': { summary: 'Follow the event log', load: () => import('./commands/events.ts') },
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
