import { type Command, getText } from '../command.ts';
import { connectFrom } from '../connection.ts';
import { listPages } from '../list-pages.ts';
import { formatAge } from '../output.ts';
import { parseSeconds } from '../parse-seconds.ts';

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
    const agents = await listPages<AgentRow>(connectFrom(options), '/v1/agents', 'agents');
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

const control = (action: 'pause' | 'resume' | 'drain', summary: string): Command => ({
  name: `agents ${action}`,
  summary,
  args: 'NAME',
  arity: [1, 1],
  options: {
    reason: '<text> why, for others who look',
    ...(action === 'pause' && { for: '<duration> when it ends by itself, such as 10m (with `agents resume`)' }),
  },
  examples: [`parley agents ${action} worker`, `parley agents ${action} worker --reason 'new model'`],
  run: async ({ args: [name = ''], options, out }) => {
    const [reason, duration] = [getText(options, 'reason'), getText(options, 'for')];
    const agent = await connectFrom(options).call<AgentRow>(
      'POST',
      `/v1/agents/${encodeURIComponent(name)}/${action}`,
      {
        body: {
          ...(reason !== undefined && { reason }),
          ...(duration !== undefined && { seconds: parseSeconds(duration, 'for') }),
        },
      },
    );
    if (out.isJson) out.json(agent);
    else out.line(`${agent.id}  ${describeHealth(agent)}`);
  },
});

const pause = control('pause', 'Give an agent no new tasks; it goes on with those that it holds');
const resume = control('resume', 'Give an agent tasks again');
const drain = control('drain', 'Let an agent finish what it holds before it ends');

export { add, drain, list, pause, remove, resume };
