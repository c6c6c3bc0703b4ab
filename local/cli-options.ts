import { type ParseArgsOptionsConfig, parseArgs } from 'node:util';
import { checkNatsUrl } from './nats-url.ts';

export interface ServerOptions {
  port: number;
  host: string;
  dir: string;
  nats?: string;
  acceptsDamage?: boolean;
  config?: string;
  isVerbose?: boolean;
}

export const HELP = `Runs Parley in this process; everything it knows is in one folder.

  npm start -- [options]

  --port <number>   where to listen (4100; 0 takes any free port)
  --host <address>  on which address (127.0.0.1; 0.0.0.0 listens on all)
                    what it speaks is plain HTTP: put TLS in front of it before others can reach it (SECURITY.md)
  --data <folder>   where the state is kept (.parley)
  --nats <url>      the NATS server whose agents take part (none)
                    nats:// or tls://, with user:password@ or token@ where it asks; one that is away is waited for
                    local starts the nats-server of the path beside Parley
  --config <file>   the configuration: TypeScript or JSON (parley.config.ts of Parley itself)
                    SIGHUP reads it again: domains, limits and times change without a restart
  --verbose         a line on standard error for each request
  --accept-damage   go on with what can be read of a damaged storage; the damaged files are kept aside
  --help            this text

  PARLEY_ADMIN_KEY  the admin key, at least 16 characters, 8 of them different
                    (otherwise one is made and kept in <folder>/admin-key)
  PARLEY_ADMIN_KEY_<PROJECT>  that of another project of parley.config.ts, as an earlier start made it
                    (otherwise one is made and kept in <folder>/admin-key.<project>)
`;

export const AWS_HELP = `Runs the synthesized AWS template on this machine: its functions, tables, queues, rules and routes.

  npm run start:aws -- [options]

  --port <number>   where to listen (4100; 0 takes any free port)
  --host <address>  on which address (127.0.0.1; 0.0.0.0 listens on all)
                    what it speaks is plain HTTP: put TLS in front of it before others can reach it (SECURITY.md)
  --data <folder>   where the state is kept (.parley)
  --nats <url>      the NATS server whose agents take part (none)
                    nats:// or tls://, with user:password@ or token@ where it asks; one that is away is waited for
                    local starts the nats-server of the path beside Parley
  --report-grants   at the end, lists the permissions that no call has needed
  --help            this text

  PARLEY_ADMIN_KEY  the admin key, at least 16 characters, 8 of them different
                    (otherwise one is made and kept in <folder>/admin-key)
  PARLEY_ADMIN_KEY_<PROJECT>  that of another project of parley.config.ts, as an earlier start made it
                    (otherwise one is made and kept in <folder>/admin-key.<project>)

  Behind it run DynamoDB Local and a local SQS and S3, which listen on free ports of 127.0.0.1 and ask for no key.
`;

export const LOCALSTACK_HELP = `Starts LocalStack, deploys Parley into it, and puts one address in front of its functions.

  npm run start:localstack -- [options]

  --port <number>   where to listen (4100; 0 takes any free port)
  --host <address>  on which address (127.0.0.1; 0.0.0.0 listens on all)
                    what it speaks is plain HTTP: put TLS in front of it before others can reach it (SECURITY.md)
  --data <folder>   where the admin key is kept (.parley); everything else is gone when LocalStack stops
  --python          without Docker: LocalStack as a Python package, its functions as processes of Node
                    the first start installs 500 MB from PyPI in .cache/localstack; its log is <folder>/localstack.log
  --help            this text

  PARLEY_ADMIN_KEY  the admin key, at least 16 characters, 8 of them different
                    (otherwise one is made and kept in <folder>/admin-key)
  PARLEY_ADMIN_KEY_<PROJECT>  that of another project of parley.config.ts, as an earlier start made it
                    (otherwise one is made and kept in <folder>/admin-key.<project>)
`;

/** A mistake that the operator can correct; printed as one line. */
export class StartError extends Error {}

export const parseOptions = (args: string[]): ServerOptions | 'help' => {
  const values = parseArguments(args, {
    ...SERVER_OPTIONS,
    config: { type: 'string' },
    verbose: { type: 'boolean', default: false },
    'accept-damage': { type: 'boolean', default: false },
  });
  const options = validateOptions(values);
  if (options === 'help') return options;
  const { config, verbose: isVerbose, 'accept-damage': acceptsDamage } = values;
  return { ...options, acceptsDamage, isVerbose, ...(config !== undefined && { config }) };
};

export const parseAwsOptions = (args: string[]): (ServerOptions & { reportsGrants: boolean }) | 'help' => {
  const values = parseArguments(args, { ...SERVER_OPTIONS, 'report-grants': { type: 'boolean', default: false } });
  const options = validateOptions(values);
  return options === 'help' ? options : { ...options, reportsGrants: values['report-grants'] };
};

export interface LocalstackOptions extends ServerOptions {
  usesPython: boolean;
}

export const parseLocalstackOptions = (args: string[]): LocalstackOptions | 'help' => {
  const values = parseArguments(args, { ...COMMON_OPTIONS, python: { type: 'boolean', default: false } });
  const options = validateOptions(values);
  return options === 'help' ? options : { ...options, usesPython: values.python };
};

const validateOptions = (
  values: ReturnType<typeof parseArguments<typeof COMMON_OPTIONS>> & { nats?: string },
): ServerOptions | 'help' => {
  if (values.help) return 'help';
  const port = Number(values.port);
  if (!/^\d{1,5}$/.test(values.port) || port > 65_535) {
    throw new StartError(`--port must be a number from 0 to 65535, not "${values.port}".`);
  }
  if (values.data === '') throw new StartError('--data must name a folder.');
  const { nats } = values;
  const mistake = nats === undefined || nats === 'local' || nats === 'off' ? undefined : checkNatsUrl(nats);
  if (mistake) throw new StartError(mistake);
  return { port, host: values.host, dir: values.data, ...(nats !== undefined && { nats }) };
};

const COMMON_OPTIONS = {
  port: { type: 'string', default: '4100' },
  host: { type: 'string', default: '127.0.0.1' },
  data: { type: 'string', default: '.parley' },
  help: { type: 'boolean', default: false },
} as const;
const SERVER_OPTIONS = { ...COMMON_OPTIONS, nats: { type: 'string' } } as const;

const parseArguments = <T extends ParseArgsOptionsConfig>(args: string[], options: T) => {
  try {
    return parseArgs({ args, options }).values;
  } catch (cause) {
    const [reason = ''] = String(cause instanceof Error ? cause.message : cause).split('\n');
    throw new StartError(`${reason.replace(/\.$/, '')}. Try --help.`, { cause });
  }
};
