import { parseArgs } from 'node:util';
import { ConnectionError, ParleyError, TaskFailed } from '../sdk/typescript/src/errors.ts';
import { COMMON_OPTIONS, type Command, EXIT, ExitError, toParseOptions, UsageError } from './command.ts';
import { formatCommandHelp, formatHelp } from './help.ts';
import { Output } from './output.ts';
import { COMMANDS, loadCommand } from './registry.ts';

const interrupted = new AbortController();
for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => interrupted.abort());
// A reader that has seen enough, such as `head`, closes the pipe.
process.stdout.on('error', (error: NodeJS.ErrnoException) =>
  process.exit(error.code === 'EPIPE' ? EXIT.ok : EXIT.failed),
);

const findName = (words: string[]): string | undefined => {
  const [first = '', second = ''] = words;
  return COMMANDS[`${first} ${second}`] ? `${first} ${second}` : COMMANDS[first] ? first : undefined;
};

const run = async (argv: string[]): Promise<void> => {
  const words = argv.filter((word) => !word.startsWith('-'));
  const name = findName(words);
  if (name === undefined) {
    const isGroup = words[0] !== undefined && Object.keys(COMMANDS).some((known) => known.startsWith(`${words[0]} `));
    if (words.length > 0 && !isGroup && words[0] !== 'help') {
      throw new UsageError(`There is no command "${words[0]}".`);
    }
    process.stdout.write(formatHelp(isGroup ? words[0] : undefined));
    if (words.length > 0 && !argv.includes('--help') && words[0] !== 'help') process.exitCode = EXIT.usage;
    return;
  }
  const command = await loadCommand(name);
  if (argv.includes('--help')) {
    process.stdout.write(formatCommandHelp(command));
    return;
  }
  const { positionals, values } = parse(command, argv);
  const args = positionals.slice(name.split(' ').length);
  const [least, most] = command.arity ?? [0, 0];
  if (args.length < least || args.length > most) {
    throw new UsageError(`parley ${name} takes ${command.args ?? 'no arguments'}.`);
  }
  await command.run({
    args,
    options: values,
    out: new Output(values.json === true, process.env),
    signal: interrupted.signal,
  });
};

const parse = (command: Command, argv: string[]) => {
  try {
    return parseArgs({
      args: argv,
      options: toParseOptions({ ...COMMON_OPTIONS, ...command.options }),
      allowPositionals: true,
    });
  } catch (error) {
    const [said = ''] = String(error instanceof Error ? error.message : error).split('\n');
    throw new UsageError(said.replace(/\. To specify.*$/, '.'));
  }
};

const toExit = (error: unknown): { code: number; message: string } => {
  if (error instanceof ExitError) return { code: error.exitCode, message: error.message };
  if (error instanceof UsageError) return { code: EXIT.usage, message: `${error.message} Try --help.` };
  if (error instanceof ConnectionError) {
    return { code: EXIT.unreachable, message: `${error.message}. Is it running? \`parley up\` starts one here.` };
  }
  if (error instanceof ParleyError) {
    const issues = error.issues.map(({ path, message }) => `\n  ${path}: ${message}`).join('');
    return { code: EXIT.rejected, message: `${error.message} (${error.code})${issues}` };
  }
  if (error instanceof TaskFailed) return { code: EXIT.taskFailed, message: `${error.message} (${error.code})` };
  return { code: EXIT.failed, message: error instanceof Error ? error.message : String(error) };
};

try {
  await run(process.argv.slice(2));
} catch (error) {
  if (!interrupted.signal.aborted) {
    const { code, message } = toExit(error);
    if (message !== '') process.stderr.write(`parley: ${message}\n`);
    process.exitCode = code;
  }
}
