import { type Command, getText, type OptionValues, UsageError } from '../command.ts';
import { runServerProgram } from '../server-program.ts';

const DATA_OPTION = { data: '<folder> the data folder (.parley)' };

const buildArgs = (command: string, args: string[], options: OptionValues): string[] => [
  command,
  ...args,
  '--data',
  getText(options, 'data') ?? '.parley',
  ...(options.json ? ['--json'] : []),
];

const backup: Command = {
  name: 'backup',
  summary: 'Copy a data folder into a new one, while its server runs or while it does not',
  args: 'DIR',
  arity: [1, 1],
  options: DATA_OPTION,
  examples: ['parley backup /backups/monday', 'parley backup /backups/monday --data /var/lib/parley --json'],
  run: ({ args, options, signal }) => runServerProgram(buildArgs('backup', args, options), signal),
};

const restore: Command = {
  name: 'restore',
  summary: 'Make a data folder from a backup',
  args: 'DIR',
  arity: [1, 1],
  options: DATA_OPTION,
  examples: ['parley restore /backups/monday', 'parley restore /backups/monday --data /var/lib/parley'],
  run: ({ args, options, signal }) => runServerProgram(buildArgs('restore', args, options), signal),
};

const get: Command = {
  name: 'records get',
  summary: 'Show stored records by their key, decoded: of a data folder with a running server, or of a table on AWS',
  args: 'KEY [SORT_KEY]',
  arity: [1, 2],
  options: {
    ...DATA_OPTION,
    table: '<name> the DynamoDB table of a deployment, instead of a folder; with the credentials of the environment',
    region: '<region> of that table (AWS_REGION)',
  },
  examples: [
    "parley records get 'default#task#5f0c1c9e-…'",
    "parley records get 'default#task#5f0c1c9e-…' task --json | jq .status",
    "AWS_PROFILE=production parley records get 'default#task#5f0c1c9e-…' --table parley-dev-Table --region eu-west-1",
  ],
  run: ({ args, options, signal }) => {
    const table = getText(options, 'table');
    if (table === undefined) return runServerProgram(buildArgs('records', args, options), signal);
    if (options.data !== undefined) throw new UsageError('records get takes --data or --table, not both.');
    const region = getText(options, 'region');
    const more = [...(region === undefined ? [] : ['--region', region]), ...(options.json ? ['--json'] : [])];
    return runServerProgram([...args, '--table', table, ...more], signal, 'aws-records');
  },
};

export { backup, get, restore };
