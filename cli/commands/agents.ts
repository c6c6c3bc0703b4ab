import { type Command, getText } from '../command.ts';
import { connectFrom } from '../connection.ts';
import { formatAge } from '../output.ts';

interface AgentRow {
  id: string;
  dialect: string;
  capabilities?: string[];
  domains?: string[];
  serves?: string[];
  health?: { online?: boolean; status?: string; lastSeen?: string };
  paused?: object;
}

const describeHealth = ({ health, paused }: AgentRow): string => {
  if (paused) return 'paused';
  if (!health) return 'never seen';
  return health.online ? (health.status ?? 'online') : 'offline';
};

const list: Command = {
  name: 'agents list',
  summary: 'List the agents with their health',
  examples: ['parley agents list', 'parley agents list --json | jq -r .[].id'],
  run: async ({ options, out }) => {
    const { agents } = await connectFrom(options).call<{ agents: AgentRow[] }>('GET', '/v1/agents');
    out.table(
      agents,
      [
        { title: 'id', value: ({ id }) => id },
        { title: 'dialect', value: ({ dialect }) => dialect },
        {
          title: 'health',
          value: describeHealth,
          style: (agent) => (describeHealth(agent) === 'offline' ? 'red' : agent.paused ? 'yellow' : undefined),
        },
        { title: 'seen', value: ({ health }) => formatAge(health?.lastSeen), align: 'right' },
        { title: 'serves', value: ({ domains = [], capabilities = [] }) => [...domains, ...capabilities].join(', ') },
      ],
      'No agents. parley agents add NAME --capabilities … registers one.',
    );
  },
};

const splitList = (text: string | undefined): string[] | undefined =>
  text
    ?.split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');

const add: Command = {
  name: 'agents add',
  summary: 'Register an agent and make a key for it',
  args: 'NAME',
  arity: [1, 1],
  options: {
    dialect: '<dialect> the protocol that it speaks (native)',
    capabilities: '<names> what it can do, separated by commas; security.* is a whole domain',
    profile: '<name> a deployment of `parley profiles`',
  },
  examples: [
    'parley agents add worker --capabilities security.briefing',
    'PARLEY_KEY=$(parley agents add tim --json | jq -r .key) parley send security.briefing',
  ],
  run: async ({ args: [name = ''], options, out }) => {
    const parley = connectFrom(options);
    const capabilities = splitList(getText(options, 'capabilities'));
    const dialect = getText(options, 'dialect') ?? 'native';
    await parley.call('PUT', `/v1/agents/${encodeURIComponent(name)}`, {
      body: capabilities ? { dialect, capabilities } : { dialect },
    });
    const { key } = await parley.call<{ key: string }>('POST', `/v1/agents/${encodeURIComponent(name)}/key`);
    if (out.isJson) out.json({ id: name, key });
    else {
      out.note(`${name} is registered. This is its key, which is shown only now:`);
      out.line(key);
    }
  },
};

const remove: Command = {
  name: 'agents remove',
  summary: 'Remove an agent',
  args: 'NAME',
  arity: [1, 1],
  examples: ['parley agents remove worker'],
  run: async ({ args: [name = ''], options, out }) => {
    await connectFrom(options).call('DELETE', `/v1/agents/${encodeURIComponent(name)}`);
    out.note(`${name} is removed, and its key has ended.`);
  },
};

const rotate: Command = {
  name: 'keys rotate',
  summary: 'Make a new key for an agent; the old one ends',
  args: 'AGENT',
  arity: [1, 1],
  examples: ['parley keys rotate worker'],
  run: async ({ args: [name = ''], options, out }) => {
    const { key } = await connectFrom(options).call<{ key: string }>(
      'POST',
      `/v1/agents/${encodeURIComponent(name)}/key`,
    );
    if (out.isJson) out.json({ id: name, key });
    else out.line(key);
  },
};

export { add, list, remove, rotate };
