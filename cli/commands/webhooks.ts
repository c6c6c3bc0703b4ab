import { type Command, EXIT, ExitError, getNumber, getText, UsageError } from '../command.ts';
import { connectFrom } from '../connection.ts';
import { type Column, formatAge } from '../output.ts';

interface Webhook {
  id: string;
  url: string;
  types: string[];
  agent?: string;
  domain?: string;
  taskId?: string;
  description?: string;
  createdAt: string;
  disabled?: { at: string; reason: string };
}

interface Delivery {
  eventId: string;
  type: string;
  attempt: number;
  at: string;
  status?: number;
  error?: string;
  tookMs: number;
}

const toPath = (id: string, rest = ''): string => `/v1/webhooks/${encodeURIComponent(id)}${rest}`;
const describeState = ({ disabled }: Webhook): string => (disabled ? `off: ${disabled.reason}` : 'on');

const COLUMNS: Column<Webhook>[] = [
  { title: 'id', value: ({ id }) => id },
  { title: 'state', value: describeState, style: ({ disabled }) => (disabled ? 'red' : 'green') },
  { title: 'types', value: ({ types }) => types.join(',') },
  { title: 'url', value: ({ url }) => url },
];

const list: Command = {
  name: 'webhooks list',
  summary: 'List webhooks',
  examples: ['parley webhooks list', 'parley webhooks list --json | jq -r .[].url'],
  run: async ({ options, out }) => {
    const { webhooks } = await connectFrom(options).call<{ webhooks: Webhook[] }>('GET', '/v1/webhooks');
    out.table(webhooks, COLUMNS, 'No webhooks. parley webhooks put ID URL --types … makes one.');
  },
};

const put: Command = {
  name: 'webhooks put',
  summary: 'Send events to an address, or change how; the secret is printed once',
  args: 'ID URL',
  arity: [2, 2],
  options: {
    types: '<types> which events, separated by commas; task.* matches a prefix (task.completed,task.failed)',
    agent: '<agent> only tasks that it requests, is addressed or holds',
    domain: '<domain> only tasks of this domain',
    task: '<id> only this task',
    description: '<text> for others who look',
    off: 'send nothing until the next `webhooks put`',
  },
  examples: [
    'parley webhooks put chat https://chat.example.com/hooks/parley --types task.failed --domain security',
    'SECRET=$(parley webhooks put chat https://chat.example.com/hooks/parley)',
  ],
  run: async ({ args: [id = '', url = ''], options, out }) => {
    const types = (getText(options, 'types') ?? 'task.completed,task.failed').split(',').filter(Boolean);
    if (types.length === 0) throw new UsageError('--types names at least one event type.');
    const fields = { agent: 'agent', domain: 'domain', task: 'taskId', description: 'description' };
    const given = Object.entries(fields).flatMap(([option, field]) => {
      const text = getText(options, option);
      return text === undefined ? [] : [[field, text]];
    });
    const body = { url, types, ...Object.fromEntries(given), ...(options.off && { disabled: true }) };
    const answer = await connectFrom(options).call<{ webhook: Webhook; secret?: string }>('PUT', toPath(id), { body });
    if (out.isJson) out.json(answer);
    else if (answer.secret === undefined) out.note(`${id} is changed, and ${describeState(answer.webhook)}.`);
    else {
      out.note(`${id} is made. This secret signs what is sent, and is shown only now:`);
      out.line(answer.secret);
    }
  },
};

const test: Command = {
  name: 'webhooks test',
  summary: 'Send a test to a webhook now, and say how it was answered',
  args: 'ID',
  arity: [1, 1],
  examples: ['parley webhooks test chat'],
  run: async ({ args: [id = ''], options, out }) => {
    const tested = await connectFrom(options).call<{
      delivered: boolean;
      status?: number;
      error?: string;
      tookMs: number;
    }>('POST', toPath(id, '/test'));
    const { delivered, status, error, tookMs } = tested;
    if (out.isJson) out.json(tested);
    else out.line(`${delivered ? 'delivered' : 'not delivered'}: ${status ?? error ?? 'no answer'}, ${tookMs} ms`);
    if (!delivered) throw new ExitError(EXIT.failed);
  },
};

const deliveries: Command = {
  name: 'webhooks deliveries',
  summary: 'List what was sent to a webhook in the last 7 days, newest first',
  args: 'ID',
  arity: [1, 1],
  options: { limit: '<n> how many (20)' },
  examples: ['parley webhooks deliveries chat', 'parley webhooks deliveries chat --json | jq .[0].status'],
  run: async ({ args: [id = ''], options, out }) => {
    const query = { limit: getNumber(options, 'limit') ?? 20 };
    const answer = await connectFrom(options).call<{ deliveries: Delivery[] }>('GET', toPath(id, '/deliveries'), {
      query,
    });
    const isTaken = ({ status = 0 }: Delivery): boolean => status >= 200 && status < 300;
    const columns: Column<Delivery>[] = [
      { title: 'event', value: ({ type }) => type },
      {
        title: 'answer',
        value: ({ status, error }) => status ?? error ?? 'none',
        style: (one) => (isTaken(one) ? 'green' : 'red'),
      },
      { title: 'attempt', value: ({ attempt }) => attempt, align: 'right' },
      { title: 'ms', value: ({ tookMs }) => tookMs, align: 'right' },
      { title: 'age', value: ({ at }) => formatAge(at), align: 'right' },
      { title: 'id', value: ({ eventId }) => eventId },
    ];
    out.table(answer.deliveries, columns, 'Nothing was sent yet.');
  },
};

const remove: Command = {
  name: 'webhooks remove',
  summary: 'Remove a webhook; what waits for it is not sent',
  args: 'ID',
  arity: [1, 1],
  examples: ['parley webhooks remove chat'],
  run: async ({ args: [id = ''], options, out }) => {
    await connectFrom(options).call('DELETE', toPath(id));
    out.note(`${id} is removed.`);
  },
};

export { deliveries, list, put, remove, test };
