import type { Json, Priority } from '../../sdk/typescript/src/index.ts';
import { type Command, getText, UsageError } from '../command.ts';
import { connectAsAgent, toAgentName } from '../connection.ts';
import { parseJsonArgument } from '../json-argument.ts';
import { parseLimits } from '../limit-argument.ts';
import { watchTask } from '../task-view.ts';

const PRIORITIES: readonly string[] = ['critical', 'high', 'normal', 'low'];
const isPriority = (text: string): text is Priority => PRIORITIES.includes(text);

const send: Command = {
  name: 'send',
  summary: 'Request a task',
  args: 'CAPABILITY [JSON]',
  arity: [1, 2],
  options: {
    as: '<agent> the requester, with an admin key (one for this user and machine)',
    to: '<agent> the only agent that may do it',
    priority: '<priority> critical, high, normal or low',
    ttl: '<duration> how long it may wait for a worker, such as 10m',
    limit: '<limits> such as openai=20 (at once) or openai=20,500/60 (and starts in seconds); several with spaces',
    id: '<id> of the task; the same id again is the same task',
    wait: 'wait for the result and print it',
    watch: 'print what happens until it ends',
  },
  examples: [
    `parley send security.briefing '{"scope": "daily"}' --wait`,
    'parley send report.render @input.json --priority high --watch',
    `echo '{"a": 1}' | parley send sum - --wait`,
  ],
  run: async ({ args: [capability = '', text = '{}'], options, out, signal }) => {
    const input: Json = parseJsonArgument(text, 'The input');
    const priority = getText(options, 'priority');
    if (priority !== undefined && !isPriority(priority)) {
      throw new UsageError(`--priority must be one of ${PRIORITIES.join(', ')}.`);
    }
    const ttl = getText(options, 'ttl');
    const limits = parseLimits(getText(options, 'limit'));
    const [id, to] = [getText(options, 'id'), getText(options, 'to')];
    const parley = await connectAsAgent(options, getText(options, 'as') ?? toAgentName('cli'));
    const handle = parley.request(capability, input, {
      ...(id !== undefined && { id }),
      ...(to !== undefined && { to }),
      ...(priority !== undefined && { priority }),
      ...(ttl !== undefined && { ttl: ttl as `${number}s` }),
      ...(limits !== undefined && { limits }),
    });
    const accepted = await handle.accepted;
    for (const notice of Array.isArray(accepted.notices) ? accepted.notices : []) out.note(String(notice));
    if (options.wait) {
      const result = await handle.result({ signal });
      out.json(result);
    } else if (options.watch) await watchTask(out, handle, signal);
    else if (out.isJson) out.json(accepted);
    else out.line(handle.id);
  },
};

export { send };
