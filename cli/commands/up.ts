import { type Command, getText } from '../command.ts';
import { runServerProgram } from '../server-program.ts';

const up: Command = {
  name: 'up',
  summary: 'Start a server on this machine',
  options: {
    port: '<number> where to listen (4100)',
    host: '<address> on which address (127.0.0.1)',
    data: '<folder> where the state is kept (.parley)',
    nats: '<url> the NATS server whose agents take part; local starts one',
    config: '<file> the configuration: JSON or a module',
    verbose: 'a line on standard error for each request',
    'accept-damage': 'go on with what can be read of a damaged storage',
  },
  examples: ['parley up', 'parley up --port 8080 --data /var/lib/parley'],
  run: async ({ options, signal }) => {
    const args = ['port', 'host', 'data', 'nats', 'config'].flatMap((name) => {
      const value = getText(options, name);
      return value === undefined ? [] : [`--${name}`, value];
    });
    const flags = ['verbose', 'accept-damage'].filter((name) => options[name]).map((name) => `--${name}`);
    await runServerProgram([...args, ...flags], signal);
  },
};

export { up };
