import { type ParseArgsOptionsConfig, parseArgs } from 'node:util';

export interface Options {
  port: number;
  host: string;
  dir: string;
  /** The address of a NATS server, or `off`; absent where one on the path is to be used. */
  nats?: string;
}

export const HELP = `Runs Parley in this process; everything it knows is in one folder.

  npm start -- [options]

  --port <number>   where to listen (4100; 0 takes any free port)
  --host <address>  on which address (127.0.0.1; 0.0.0.0 listens on all)
  --data <folder>   where the state is kept (.parley)
  --nats <url>      the NATS server whose agents take part; off for none (a nats-server on the path, if there is one)
  --help            this text

  PARLEY_ADMIN_KEY  the admin key, at least 16 characters (otherwise one is made and kept in <folder>/admin-key)
`;

export const AWS_HELP = `Runs the synthesized AWS template on this machine: its functions, tables, queues, rules and routes.

  npm run start:aws -- [options]

  --port <number>   where to listen (4100; 0 takes any free port)
  --host <address>  on which address (127.0.0.1; 0.0.0.0 listens on all)
  --data <folder>   where the state is kept (.parley)
  --nats <url>      the NATS server whose agents take part; off for none (a nats-server on the path, if there is one)
  --report-grants   at the end, lists the permissions that no call has needed
  --help            this text

  PARLEY_ADMIN_KEY  the admin key, at least 16 characters (otherwise one is made and kept in <folder>/admin-key)

  Behind it run DynamoDB Local and a local SQS and S3, which listen on free ports of all addresses and ask for no key.
`;

export const LOCALSTACK_HELP = `Starts LocalStack with Docker, deploys Parley into it, and puts one address in front of its functions.

  npm run start:localstack -- [options]

  --port <number>   where to listen (4100; 0 takes any free port)
  --host <address>  on which address (127.0.0.1; 0.0.0.0 listens on all)
  --data <folder>   where the admin key is kept (.parley); everything else is gone when LocalStack stops
  --help            this text

  PARLEY_ADMIN_KEY  the admin key, at least 16 characters (otherwise one is made and kept in <folder>/admin-key)
`;

/** A mistake that the person who started it can mend: it is told in one line. */
export class StartError extends Error {}

export const optionsFrom = (args: string[]): Options | 'help' => checked(parsed(args, OPTIONS));

export const awsOptionsFrom = (args: string[]): (Options & { reportsGrants: boolean }) | 'help' => {
  const values = parsed(args, { ...OPTIONS, 'report-grants': { type: 'boolean', default: false } });
  const options = checked(values);
  return options === 'help' ? options : { ...options, reportsGrants: values['report-grants'] };
};

/** No relay stands beside LocalStack. */
export const localstackOptionsFrom = (args: string[]): Options | 'help' => checked(parsed(args, COMMON));

const checked = (values: ReturnType<typeof parsed<typeof COMMON>> & { nats?: string }): Options | 'help' => {
  if (values.help) return 'help';
  const port = Number(values.port);
  if (!/^\d{1,5}$/.test(values.port) || port > 65_535) {
    throw new StartError(`--port must be a number from 0 to 65535, not "${values.port}".`);
  }
  if (values.data === '') throw new StartError('--data must name a folder.');
  const { nats } = values;
  if (nats !== undefined && nats !== 'off' && !/^(nats|tls|ws|wss):\/\/\S+$/.test(nats)) {
    throw new StartError(`--nats must be an address such as nats://127.0.0.1:4222, or off, not "${nats}".`);
  }
  return { port, host: values.host, dir: values.data, ...(nats !== undefined && { nats }) };
};

const COMMON = {
  port: { type: 'string', default: '4100' },
  host: { type: 'string', default: '127.0.0.1' },
  data: { type: 'string', default: '.parley' },
  help: { type: 'boolean', default: false },
} as const;
const OPTIONS = { ...COMMON, nats: { type: 'string' } } as const;

const parsed = <T extends ParseArgsOptionsConfig>(args: string[], options: T) => {
  try {
    return parseArgs({ args, options }).values;
  } catch (cause) {
    // The parser's message may have several lines, and ends with or without a full stop.
    const [said = ''] = String(cause instanceof Error ? cause.message : cause).split('\n');
    throw new StartError(`${said.replace(/\.$/, '')}. Try --help.`, { cause });
  }
};
