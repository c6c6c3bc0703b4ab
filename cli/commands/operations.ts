import { followOperation, type Operation, stopOperation } from '../bulk.ts';
import { type Command, getNumber, getText } from '../command.ts';
import { connectFrom } from '../connection.ts';
import { listPages } from '../list-pages.ts';
import { type Column, formatAge } from '../output.ts';

const describeFilter = ({ filter }: Operation): string =>
  Object.entries(filter)
    .map(([name, value]) => `${name}=${String(value)}`)
    .join(' ');

const COLUMNS: Column<Operation>[] = [
  { title: 'id', value: ({ operationId }) => operationId },
  { title: 'kind', value: ({ kind }) => kind },
  {
    title: 'status',
    value: ({ status }) => status,
    style: ({ status }) => (status === 'running' ? 'cyan' : undefined),
  },
  { title: 'changed', value: ({ changed, expected }) => `${changed}/${expected.value}`, align: 'right' },
  { title: 'failed', value: ({ failed }) => failed, align: 'right' },
  { title: 'by', value: ({ by }) => by },
  { title: 'age', value: ({ createdAt }) => formatAge(createdAt), align: 'right' },
  { title: 'which', value: describeFilter },
];

const list: Command = {
  name: 'operations list',
  summary: 'List what was cancelled or retried by a filter, newest first',
  options: { status: '<status> one or several, with commas between', limit: '<n> how many (20)' },
  examples: ['parley operations list', 'parley operations list --status running --json | jq -r .[].operationId'],
  run: async ({ options, out }) => {
    const query = { status: getText(options, 'status') };
    const limit = getNumber(options, 'limit') ?? 20;
    const all = await listPages<Operation>(connectFrom(options), '/v1/operations', 'operations', query, limit);
    out.table(all, COLUMNS, 'No operations.');
  },
};

const watch: Command = {
  name: 'operations watch',
  summary: 'Follow a bulk operation until it ends',
  args: 'ID',
  arity: [1, 1],
  examples: ['parley operations watch 5f0c1c9e-…', 'parley operations watch 5f0c1c9e-… --json | jq .changed'],
  run: async ({ args: [id = ''], options, out, signal }) => {
    const parley = connectFrom(options);
    await followOperation(parley, id, { out, signal, stopsOnAbort: false });
  },
};

const stop: Command = {
  name: 'operations stop',
  summary: 'Stop a bulk operation; what is changed stays changed',
  args: 'ID',
  arity: [1, 1],
  examples: ['parley operations stop 5f0c1c9e-…'],
  run: async ({ args: [id = ''], options, out }) => {
    const operation = await stopOperation(connectFrom(options), id);
    if (out.isJson) out.json(operation);
    else out.line(`${operation.operationId}  ${operation.status}`);
  },
};

export { list, stop, watch };
