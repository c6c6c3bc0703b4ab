import { DEFAULT_PROJECT, generateKey, RELAY_OWNER } from '../shared/identity/auth/keys.ts';
import { createJsonLog } from '../shared/kernel/log.ts';
import { buildKeyFileName, loadAdminKeys, loadOrCreateKey } from './admin-keys.ts';
import { runBackupCommand } from './backup-commands.ts';
import { formatBanner } from './banner.ts';
import { HELP, parseOptions, type ServerOptions } from './cli-options.ts';
import { startParley } from './composition.ts';
import { createConsoleKey } from './console/console-keys.ts';
import { SignInCodes } from './console/sign-in-codes.ts';
import { withConsole } from './console/with-console.ts';
import { handleControl } from './control-requests.ts';
import { serveControl } from './control-socket.ts';
import { createDataFolder, lacksStorage } from './create-data-folder.ts';
import { type EmbeddedRelay, type RelayHost, startEmbeddedRelay } from './embedded-relay.ts';
import { ensureKey } from './ensure-key.ts';
import { startHttpServer } from './http-server.ts';
import { loadConfig } from './load-config.ts';
import { logRequests } from './log-requests.ts';
import { runRecordsCommand } from './records-command.ts';
import { reloadOnSignal } from './reload-on-signal.ts';
import { formatStartupError } from './startup-errors.ts';

const startEmbedded = async (options: ServerOptions): Promise<void> => {
  const { dir, port, host, nats } = options;
  const config = await loadConfig(options.config);
  createDataFolder(dir);
  const isStorageGone = lacksStorage(dir);
  const adminKeys = loadAdminKeys(dir, Object.keys(config.projects), process.env);
  const [{ key: adminKey }, ...others] = adminKeys;
  const log = createJsonLog((line) => process.stderr.write(line), Date.now);
  if (isStorageGone) log('warn', 'admin key without storage, starting empty', { dir });
  let natsSide: EmbeddedRelay | undefined;
  const parley = await startParley({
    dir,
    config,
    adminKey,
    log,
    natsState: () => natsSide?.getState(),
    hasConsole: true,
    acceptDamage: options.acceptsDamage,
    onFailure: (error) => exitWithError(formatStartupError(error, options)),
  });
  for (const { project, key } of others) await ensureKey(parley.deps.records, project, 'admin', key);
  const codes = new SignInCodes();
  const served = withConsole(parley.handle, {
    codes,
    createKey: () => createConsoleKey(parley.deps, DEFAULT_PROJECT),
    log,
    isSoonOpened: process.stdout.isTTY,
  });
  const handle = options.isVerbose ? logRequests(served, (line) => process.stderr.write(line)) : served;
  const server = await startHttpServer(handle, port, host, log, config.limits.connections);
  const closeControl = await serveControl(dir, (request) => handleControl(dir, parley, request), log);
  let isStopping = false;
  const stop = async (): Promise<void> => {
    if (isStopping) return;
    isStopping = true;
    await closeControl();
    await natsSide?.stop();
    await server.close();
    await parley.stop();
    process.exit(0);
  };
  process.on('SIGINT', stop);
  process.on('SIGTERM', stop);
  reloadOnSignal({
    file: options.config,
    log,
    getConfig: parley.getConfig,
    setConfig: (changed) => {
      parley.setConfig(changed);
      server.setMaxConnections(changed.limits.connections);
    },
    stop,
  });
  const address = `http://${host.includes(':') ? `[${host}]` : host}:${server.port}`;
  const { records, queues } = parley.deps;
  const cloud: RelayHost = {
    config,
    address,
    log,
    loadRelayKey: async (project) => {
      const key = loadOrCreateKey(dir, buildKeyFileName('relay-key', project), () => generateKey(project, RELAY_OWNER));
      await ensureKey(records, project, 'relay', key);
      return key;
    },
    openSource: async (project) => (await import('../relay/egress-source.ts')).createQueueSource(queues, project),
  };
  natsSide = await startEmbeddedRelay(cloud, { nats, dir });
  const consoleLink = `${address}/console/#/sign-in?code=${codes.create()}`;
  process.stdout.write(formatBanner(address, adminKeys, dir, natsSide.summary, consoleLink));
};

const exitWithError = (line: string): never => {
  process.stderr.write(`parley: ${line}\n`);
  process.exit(1);
};

let options: ServerOptions | 'help' | undefined;
try {
  const [command, ...args] = process.argv.slice(2);
  if (command === 'backup' || command === 'restore') process.exit(await runBackupCommand(command, args));
  if (command === 'records') process.exit(await runRecordsCommand(args));
  options = parseOptions(process.argv.slice(2));
  if (options === 'help') process.stdout.write(HELP);
  else await startEmbedded(options);
} catch (error) {
  exitWithError(formatStartupError(error, typeof options === 'object' ? options : { dir: '.parley', port: 0 }));
}
