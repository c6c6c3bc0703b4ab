import { parseArgs } from 'node:util';
import { CAST, ON_NATS } from './cast.ts';
import { Ensemble } from './ensemble.ts';
import { followStory } from './follow-story.ts';
import { printSummary } from './print-summary.ts';
import { startServer } from './start-server.ts';
import { takeBreaks } from './take-breaks.ts';

const HELP = `Starts Parley with a cast of scripted agents of every protocol, who work for as long as you watch.

  npm run demo -- [options]

  --port <number>     where the server listens (4100; 0 takes any free port)
  --seconds <number>  ends by itself (otherwise Ctrl-C ends it)
  --help              this text

  Nothing is kept, no model is asked, and nothing leaves this machine.
`;

const { values } = parseArgs({
  options: { port: { type: 'string', default: '4100' }, seconds: { type: 'string' }, help: { type: 'boolean' } },
});

const run = async (): Promise<void> => {
  const server = await startServer(values.port);
  const ensemble = new Ensemble(server);
  const ended = new AbortController();
  const end = (): void => ended.abort();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, end);
  void server.exited.then(end);
  try {
    console.log(`Open the console:\n${server.consoleLink}\n`);
    const cast = server.nats === undefined ? CAST : [...CAST, ...ON_NATS];
    await ensemble.start(cast);
    const where = server.nats === undefined ? '' : ', one of them over NATS';
    console.log(
      `${cast.length} agents have come, who speak six protocols and the native one${where}. Ctrl-C ends it.\n`,
    );
    if (values.seconds !== undefined) setTimeout(end, Number(values.seconds) * 1000);
    void takeBreaks(server, ended.signal);
    await followStory(server, ended.signal);
    await printSummary(server);
  } finally {
    await ensemble.stop();
    await server.stop();
  }
};

if (values.help) console.log(HELP);
else await run();
