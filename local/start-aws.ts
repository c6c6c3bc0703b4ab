import { join, resolve } from 'node:path';
import { VISIBILITY_MS } from '../relay/source.ts';
import { jsonLog } from '../shared/log.ts';
import { adminKeyIn } from './admin-key.ts';
import { makeDataFolder } from './data-folder.ts';
import { faultLine } from './faults.ts';
import { greeting } from './greeting.ts';
import { type Cloud, type NatsSide, PROJECT, startNatsSide } from './nats-side.ts';
import { AWS_HELP, awsOptionsFrom, StartError } from './options.ts';
import { lockFolder } from './template/folder-lock.ts';
import { relayAccess } from './template/relay-access.ts';
import { type RunningTemplate, startTemplate } from './template/start-template.ts';
import { synthesized } from './template/synthesize.ts';
import { TemplateError } from './template/template-error.ts';

type AwsOptions = Exclude<ReturnType<typeof awsOptionsFrom>, 'help'>;

const ROOT = resolve(import.meta.dirname, '..');

const start = async ({ dir, port, host, nats, reportsGrants }: AwsOptions): Promise<void> => {
  makeDataFolder(dir);
  const adminKey = adminKeyIn(dir, process.env.PARLEY_ADMIN_KEY);
  const folder = resolve(dir, 'aws');
  makeDataFolder(folder);
  const lock = lockFolder(folder);
  let isStopping = false;
  let running: RunningTemplate | undefined;
  let natsSide: NatsSide | undefined;
  const stop = async (): Promise<void> => {
    if (isStopping) return;
    isStopping = true;
    const unused = running?.unusedGrants() ?? [];
    await natsSide?.stop();
    await running?.stop();
    lock.release();
    if (reportsGrants) report(unused);
    process.exit(0);
  };
  process.on('SIGINT', stop);
  process.on('SIGTERM', stop);

  const { template, assets } = await synthesized(ROOT, (line) => process.stdout.write(`${line}\n`));
  const onTrouble = (line: string): void => {
    // What is cut off by the end is no trouble.
    if (!isStopping) process.stderr.write(`parley: ${line}\n`);
  };
  const started = await startTemplate({ template, assets, dir: folder, port, host, onTrouble });
  running = started;
  await setAdminKey(started, adminKey);
  await isHealthy(started);
  const { default: config } = await import('../parley.config.ts');
  const { address } = started;
  const cloud: Cloud = {
    config,
    address,
    log: jsonLog((line) => !isStopping && process.stderr.write(line), Date.now),
    key: () => newRelayKey(address, adminKey),
    source: async () => {
      const { sqsSource } = await import('../relay/sqs-source.ts');
      const { queueUrlPrefix, ...client } = relayAccess(started, PROJECT);
      return (project) => sqsSource(queueUrlPrefix, project, VISIBILITY_MS, client);
    },
  };
  natsSide = await startNatsSide(cloud, { nats, dir });
  if (!isStopping) process.stdout.write(greeting(address, adminKey, dir, natsSide.said));
};

const newRelayKey = async (address: string, adminKey: string): Promise<string> => {
  const response = await fetch(`${address}/v1/relay/key`, {
    method: 'POST',
    headers: { authorization: `Bearer ${adminKey}` },
  });
  const { key, detail } = Object(await response.json());
  if (typeof key === 'string') return key;
  throw new StartError(`The relay was given no key: ${detail ?? response.status}.`);
};

const setAdminKey = async (running: RunningTemplate, key: string): Promise<void> => {
  const result = await running.invoke(running.functionNamed('admin-key'), { key });
  if (result.ok !== true) {
    const why = result.ok === false ? result.errorMessage : 'it was throttled';
    throw new StartError(`The function admin-key could not set the admin key: ${why}.`);
  }
};

const isHealthy = async ({ address }: RunningTemplate): Promise<void> => {
  const { status } = await fetch(`${address}/healthz`);
  if (status !== 200) throw new StartError(`/healthz answered ${status}. ${join('aws', 'logs')} in --data says why.`);
};

const report = (unused: ReturnType<RunningTemplate['unusedGrants']>): void => {
  if (unused.length === 0) process.stdout.write('Every grant was used.\n');
  else process.stdout.write('Grants that no call has needed:\n');
  for (const { functionName, action, resource } of unused)
    process.stdout.write(`  ${functionName}  ${action}  ${resource}\n`);
};

const quit = (line: string): never => {
  process.stderr.write(`parley: ${line}\n`);
  process.exit(1);
};

let options: AwsOptions | 'help' | undefined;
try {
  options = awsOptionsFrom(process.argv.slice(2));
  if (options === 'help') process.stdout.write(AWS_HELP);
  else await start(options);
} catch (error) {
  const { dir, port } = typeof options === 'object' ? options : { dir: '.parley', port: 0 };
  quit(error instanceof TemplateError ? error.message : faultLine(error, { dir, port }));
}
