import { type Command, getText } from '../command.ts';
import { connectFrom } from '../connection.ts';
import { toPlainText } from '../output.ts';

const tail: Command = {
  name: 'events tail',
  summary: 'Follow the event log',
  options: {
    types: '<types> only these, separated by commas; task.* matches a prefix',
    after: '<position> from here on, instead of from now on',
  },
  examples: ['parley events tail --types task.failed,task.expired', 'parley events tail --json | jq .data.taskId'],
  run: async ({ options, out, signal }) => {
    const [types, after] = [getText(options, 'types')?.split(','), getText(options, 'after')];
    const parley = connectFrom(options);
    // The stream itself waits for a server that is away.
    await parley.call('GET', '/v1/domains');
    const events = parley.events({
      ...(types && { types }),
      ...(after !== undefined && { after }),
      signal,
    });
    for await (const event of events) {
      const { type, at, data } = event;
      if (out.isJson) {
        process.stdout.write(`${JSON.stringify(event)}\n`);
        continue;
      }
      const { taskId, agent, from, capability } = data;
      const about = [capability, taskId ?? data.id, agent ?? from].filter((one) => typeof one === 'string');
      const style = /failed|expired|evicted|gap|blocked/.test(type)
        ? 'red'
        : type.endsWith('completed')
          ? 'green'
          : undefined;
      out.line(
        `${out.style('dim', new Date(at).toISOString())}  ${out.style(style, type.padEnd(20))}  ${toPlainText(about.join('  '))}`,
      );
    }
  },
};

export { tail };
