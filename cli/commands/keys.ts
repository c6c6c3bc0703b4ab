import { type Command, getText, UsageError } from '../command.ts';
import { connectFrom } from '../connection.ts';
import { formatAge } from '../output.ts';
import { parseSeconds } from '../parse-seconds.ts';

interface Key {
  name: string;
  agent?: string;
  scope: string;
  expiresAt?: string;
  lastUsedAt?: string;
  previousKeys?: { expiresAt: string }[];
}

/** The first key of every agent. */
const AGENT_KEY = 'default';

const AGENT_OPTION = { agent: '<agent> whose key it is; without it, a key of operators or relays' };

const list: Command = {
  name: 'keys list',
  summary: 'List the keys of operators and relays, or those of an agent',
  options: AGENT_OPTION,
  examples: ['parley keys list', 'parley keys list --agent worker --json | jq -r .[].expiresAt'],
  run: async ({ options, out }) => {
    const query = { agent: getText(options, 'agent') };
    const { keys } = await connectFrom(options).call<{ keys: Key[] }>('GET', '/v1/keys', { query });
    out.table(
      keys,
      [
        { title: 'name', value: ({ name }) => name },
        { title: 'agent', value: ({ agent }) => agent },
        {
          title: 'scope',
          value: ({ scope }) => scope,
          style: ({ scope }) => (scope === 'admin' ? 'yellow' : undefined),
        },
        { title: 'used', value: ({ lastUsedAt }) => formatAge(lastUsedAt), align: 'right' },
        { title: 'ends', value: ({ expiresAt }) => expiresAt },
        {
          title: 'earlier ones end',
          value: ({ previousKeys = [] }) => previousKeys.map(({ expiresAt }) => expiresAt).join(', '),
        },
      ],
      'No keys.',
    );
  },
};

const add: Command = {
  name: 'keys add',
  summary: 'Make a key for an operator, or one more for an agent',
  args: 'NAME',
  arity: [1, 1],
  options: {
    ...AGENT_OPTION,
    scope: '<scope> read, operate, agent or admin (read; with --agent, agent)',
    expires: '<duration> how long it is valid, such as 30d',
  },
  examples: ['parley keys add dashboard --scope read --expires 90d', 'parley keys add second --agent worker'],
  run: async ({ args: [name = ''], options, out }) => {
    const [agent, expires] = [getText(options, 'agent'), getText(options, 'expires')];
    const scope = getText(options, 'scope') ?? (agent === undefined ? 'read' : 'agent');
    const ends = expires === undefined ? undefined : Date.now() + parseSeconds(expires, 'expires') * 1000;
    const created = await connectFrom(options).call<Key & { key: string }>('POST', '/v1/keys', {
      body: {
        name,
        scope,
        ...(agent !== undefined && { agent }),
        ...(ends !== undefined && { expiresAt: new Date(ends).toISOString() }),
      },
    });
    if (out.isJson) out.json(created);
    else {
      out.note(`The key ${name} has the scope ${created.scope}. It is shown only now:`);
      out.line(created.key);
    }
  },
};

const rotate: Command = {
  name: 'keys rotate',
  summary: 'Replace a key',
  args: '[NAME]',
  arity: [0, 1],
  options: { ...AGENT_OPTION, overlap: '<duration> how long the earlier key stays valid (not at all)' },
  examples: ['parley keys rotate dashboard', 'parley keys rotate --agent worker --overlap 1h'],
  run: async ({ args: [named], options, out }) => {
    const [agent, overlap] = [getText(options, 'agent'), getText(options, 'overlap')];
    const name = named ?? (agent === undefined ? undefined : AGENT_KEY);
    if (name === undefined) throw new UsageError('parley keys rotate takes a name, or --agent.');
    const rotated = await connectFrom(options).call<Key & { key: string }>(
      'POST',
      `/v1/keys/${encodeURIComponent(name)}/rotate`,
      {
        body: {
          ...(agent !== undefined && { agent }),
          ...(overlap !== undefined && { overlapSeconds: parseSeconds(overlap, 'overlap') }),
        },
      },
    );
    if (out.isJson) out.json(rotated);
    else out.line(rotated.key);
  },
};

const revoke: Command = {
  name: 'keys revoke',
  summary: 'End a key',
  args: 'NAME',
  arity: [1, 1],
  options: AGENT_OPTION,
  examples: ['parley keys revoke dashboard', 'parley keys revoke second --agent worker'],
  run: async ({ args: [name = ''], options, out }) => {
    const query = { agent: getText(options, 'agent') };
    await connectFrom(options).call('DELETE', `/v1/keys/${encodeURIComponent(name)}`, { query });
    out.note(`The key ${name} has ended.`);
  },
};

export { add, list, revoke, rotate };
