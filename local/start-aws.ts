import { join, resolve } from 'node:path';
import { EGRESS_VISIBILITY_MS } from '../relay/egress-source.ts';
import { createJsonLog } from '../shared/kernel/log.ts';
import { type AdminKey, loadAdminKeys } from './admin-keys.ts';
import { formatBanner } from './banner.ts';
import { AWS_HELP, parseAwsOptions, StartError } from './cli-options.ts';
import {
  loadOrSynthesize,
  lockFolder,
  RunnerError,
  type RunningTemplate,
  startTemplate,
} from './cloudformation-runner/index.ts';
import { createDataFolder } from './create-data-folder.ts';
import { type EmbeddedRelay, type RelayHost, startEmbeddedRelay } from './embedded-relay.ts';
import { getRelayAccess } from './relay-access.ts';
import { formatStartupError } from './startup-errors.ts';

type AwsStartOptions = Exclude<ReturnType<typeof parseAwsOptions>, 'help'>;

const ROOT = resolve(import.meta.dirname, '..');

const startAws = async ({ dir, port, host, nats, reportsGrants }: AwsStartOptions): Promise<void> => {
  createDataFolder(dir);
  const { default: config } = await import('../parley.config.ts');
  const adminKeys = loadAdminKeys(dir, Object.keys(config.projects), process.env);
  const folder = resolve(dir, 'aws');
  createDataFolder(folder);
  const lock = lockFolder(folder);
  let isStopping = false;
  let running: RunningTemplate | undefined;
  let natsSide: EmbeddedRelay | undefined;
  const stop = async (): Promise<void> => {
    if (isStopping) return;
    isStopping = true;
    const unused = running?.listUnusedGrants() ?? [];
    await natsSide?.stop();
    await running?.stop();
    lock.release();
    if (reportsGrants) reportUnusedGrants(unused);
    process.exit(0);
  };
  process.on('SIGINT', stop);
  process.on('SIGTERM', stop);

  const { template, assets } = await loadOrSynthesize(ROOT, (line) => process.stdout.write(`${line}\n`));
  const onTrouble = (line: string): void => {
    if (!isStopping) process.stderr.write(`parley: ${line}\n`);
  };
  const containers = { waiter: [process.execPath, join(ROOT, 'waiter', 'main.ts')] };
  const started = await startTemplate({ template, assets, dir: folder, port, host, onTrouble, containers });
  running = started;
  for (const adminKey of adminKeys) await setAdminKey(started, adminKey);
  await assertHealthy(started);
  const { address } = started;
  const cloud: RelayHost = {
    config,
    address,
    log: createJsonLog((line) => !isStopping && process.stderr.write(line), Date.now),
    loadRelayKey: (project) => createRelayKey(address, adminKeys.find((one) => one.project === project)?.key ?? ''),
    openSource: async (project) => {
      const { createSqsSource } = await import('../relay/sqs-egress-source.ts');
      const { queueUrlPrefix, ...client } = getRelayAccess(started, project);
      return createSqsSource(queueUrlPrefix, project, EGRESS_VISIBILITY_MS, client);
    },
  };
  natsSide = await startEmbeddedRelay(cloud, { nats, dir });
  if (!isStopping) process.stdout.write(formatBanner(address, adminKeys, dir, natsSide.summary));
};

const createRelayKey = async (address: string, adminKey: string): Promise<string> => {
  const response = await fetch(`${address}/v1/relay/key`, {
    method: 'POST',
    headers: { authorization: `Bearer ${adminKey}` },
  });
  const { key, detail } = Object(await response.json());
  if (typeof key === 'string') return key;
  throw new StartError(`The relay was given no key: ${detail ?? response.status}.`);
};

const setAdminKey = async (running: RunningTemplate, { project, key }: AdminKey): Promise<void> => {
  const result = await running.invoke(running.findFunctionName('admin-key'), { project, key });
  if (result.ok !== true) {
    const why = result.ok === false ? result.errorMessage : 'it was throttled';
    throw new StartError(`The function admin-key could not set the admin key: ${why}.`);
  }
};

const assertHealthy = async ({ address }: RunningTemplate): Promise<void> => {
  const { status } = await fetch(`${address}/healthz`);
  if (status !== 200) throw new StartError(`/healthz answered ${status}. ${join('aws', 'logs')} in --data says why.`);
};

const reportUnusedGrants = (unused: ReturnType<RunningTemplate['listUnusedGrants']>): void => {
  if (unused.length === 0) process.stdout.write('Every grant was used.\n');
  else process.stdout.write('Grants that no call has needed:\n');
  for (const { functionName, action, resource } of unused)
    process.stdout.write(`  ${functionName}  ${action}  ${resource}\n`);
};

const exitWithError = (line: string): never => {
  process.stderr.write(`parley: ${line}\n`);
  process.exit(1);
};

let options: AwsStartOptions | 'help' | undefined;
try {
  options = parseAwsOptions(process.argv.slice(2));
  if (options === 'help') process.stdout.write(AWS_HELP);
  else await startAws(options);
} catch (error) {
  const { dir, port } = typeof options === 'object' ? options : { dir: '.parley', port: 0 };
  exitWithError(error instanceof RunnerError ? error.message : formatStartupError(error, { dir, port }));
}
