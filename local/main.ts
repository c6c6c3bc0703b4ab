import { newKey, RELAY, setRelayKey } from '../shared/agents/keys.ts';
import { newId } from '../shared/ids.ts';
import { jsonLog } from '../shared/log.ts';
import { adminKeyIn, keptKey } from './admin-key.ts';
import { makeDataFolder } from './data-folder.ts';
import { faultLine } from './faults.ts';
import { greeting } from './greeting.ts';
import { type Cloud, type NatsSide, PROJECT, startNatsSide } from './nats-side.ts';
import { HELP, type Options, optionsFrom } from './options.ts';
import { startParley } from './parley.ts';
import { serve } from './server.ts';

const start = async (options: Options): Promise<void> => {
  const { dir, port, host, nats } = options;
  // Here, so that a mistake in it is told like any other.
  const { default: config } = await import('../parley.config.ts');
  makeDataFolder(dir);
  const adminKey = adminKeyIn(dir, process.env.PARLEY_ADMIN_KEY);
  const log = jsonLog((line) => process.stderr.write(line), Date.now);
  const parley = await startParley({
    dir,
    config,
    adminKey,
    log,
    onFailure: (error) => quit(faultLine(error, options)),
  });
  const server = await serve(parley.handle, port, host, config.limits.bodyBytes, log);
  let isStopping = false;
  let natsSide: NatsSide | undefined;
  const stop = async (): Promise<void> => {
    if (isStopping) return;
    isStopping = true;
    await natsSide?.stop();
    await server.close();
    await parley.stop();
    process.exit(0);
  };
  process.on('SIGINT', stop);
  process.on('SIGTERM', stop);
  const address = `http://${host.includes(':') ? `[${host}]` : host}:${server.port}`;
  const { records, queues } = parley.deps;
  const cloud: Cloud = {
    config,
    address,
    log,
    key: async () => {
      const key = keptKey(dir, 'relay-key', () => newKey(PROJECT, RELAY));
      await setRelayKey(records, PROJECT, key, newId());
      return key;
    },
    source: async () => {
      const { queueSource } = await import('../relay/source.ts');
      return (project) => queueSource(queues, project);
    },
  };
  natsSide = await startNatsSide(cloud, { nats, dir });
  process.stdout.write(greeting(address, adminKey, dir, natsSide.said));
};

const quit = (line: string): never => {
  process.stderr.write(`parley: ${line}\n`);
  process.exit(1);
};

let options: Options | 'help' | undefined;
try {
  options = optionsFrom(process.argv.slice(2));
  if (options === 'help') process.stdout.write(HELP);
  else await start(options);
} catch (error) {
  quit(faultLine(error, typeof options === 'object' ? options : { dir: '.parley', port: 0 }));
}
