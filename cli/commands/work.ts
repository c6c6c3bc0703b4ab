import { spawn } from 'node:child_process';
import { Fail, type Json, Retry, type Task, type TaskContext } from '../../sdk/typescript/src/index.ts';
import { type Command, getNumber, getText, UsageError } from '../command.ts';
import { connectAsAgent, toAgentName } from '../connection.ts';

/** Programs end with it where another attempt may succeed (sysexits.h). */
const TEMPORARY_FAILURE = 75;

/** The input on standard input, the result from standard output; what it writes to standard error is shown. */
const runProgram = (line: string, task: Task, { signal }: TaskContext): Promise<Json> =>
  new Promise((resolve, reject) => {
    const child = spawn(line, {
      shell: true,
      signal,
      stdio: ['pipe', 'pipe', 'inherit'],
      env: {
        ...process.env,
        PARLEY_TASK_ID: task.id,
        PARLEY_CAPABILITY: task.capability,
        PARLEY_ATTEMPT: String(task.attempt),
        TRACEPARENT: task.traceparent,
      },
    });
    let said = '';
    child.stdout.setEncoding('utf8').on('data', (text) => {
      said += text;
    });
    // A program may end without reading its input.
    child.stdin.on('error', () => {});
    child.stdin.end(JSON.stringify(task.input));
    child.on('error', reject);
    child.on('close', (code) => {
      if (code === 0) resolve(parseOutput(said));
      else if (code === TEMPORARY_FAILURE) reject(new Retry('temporary_failure', { message: describe(said, code) }));
      else reject(new Fail('program_failed', describe(said, code)));
    });
  });

const describe = (said: string, code: number | null): string =>
  said.trim().slice(-1000) || `The program ended with code ${code}.`;

/** JSON where it is, else the text as it is. */
const parseOutput = (text: string): Json => {
  try {
    return JSON.parse(text);
  } catch {
    return text.trim();
  }
};

const work: Command = {
  name: 'work',
  summary: 'Do tasks with any program: JSON in, JSON out',
  args: 'CAPABILITY',
  arity: [1, 1],
  options: {
    exec: '<command> runs for each task: the input on standard input, the result from standard output',
    concurrency: '<n> how many at the same time (1)',
    as: '<agent> the worker, with an admin key (one for this user and machine)',
    once: 'end after one task',
  },
  examples: [
    'parley work report.render --exec ./render.py',
    `parley work text.upper --exec "jq '.text | ascii_upcase'" --concurrency 4`,
  ],
  run: async ({ args: [capability = ''], options, out, signal }) => {
    const line = getText(options, 'exec');
    if (!line) throw new UsageError('What does the work? --exec names a command.');
    const name = getText(options, 'as') ?? toAgentName('work');
    const parley = await connectAsAgent(options, name, { capabilities: [capability] });
    const worker = parley.worker({ concurrency: getNumber(options, 'concurrency') ?? 1 });
    worker.on(capability, (task, context) => runProgram(line, task, context));
    worker.when('claimed', ({ id, attempt }) => out.note(`${id}  claimed  attempt ${attempt}`));
    worker.when('failed', ({ task, error }) =>
      out.note(`${task.id}  failed  ${error instanceof Error ? error.message : error}`),
    );
    worker.when('aborted', ({ task, reason }) => out.note(`${task.id}  ${reason}`));
    worker.when('error', (error) => out.note(`parley: ${error.message}`));
    worker.when('completed', ({ task, durationMs }) => {
      out.note(`${task.id}  completed  ${Math.round(durationMs)} ms`);
      if (options.once) worker.stop();
    });
    signal.addEventListener('abort', () => worker.stop());
    out.note(`${name} waits for ${capability} at ${parley.url}. Ctrl-C stops it.`);
    await worker.run({ signals: false });
  },
};

export { work };
