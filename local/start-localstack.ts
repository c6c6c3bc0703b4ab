import { join, resolve } from 'node:path';
import { loadAdminKeys } from './admin-keys.ts';
import { formatBanner } from './banner.ts';
import { LOCALSTACK_HELP, type LocalstackOptions, parseLocalstackOptions } from './cli-options.ts';
import { createDataFolder } from './create-data-folder.ts';
import { startContainer } from './localstack/container.ts';
import { deploy, setAdminKeys } from './localstack/deploy.ts';
import type { LocalStack } from './localstack/localstack.ts';
import { startPythonProcess } from './localstack/python-process.ts';
import { startFront } from './localstack/start-front.ts';
import { formatStartupError } from './startup-errors.ts';

const ROOT = resolve(import.meta.dirname, '..');

const print = (line: string): void => void process.stdout.write(`${line}\n`);

const startLocalstack = async ({ dir, port, host, usesPython }: LocalstackOptions): Promise<void> => {
  createDataFolder(dir);
  const { default: config } = await import('../parley.config.ts');
  const adminKeys = loadAdminKeys(dir, Object.keys(config.projects), process.env);
  let localstack: LocalStack | undefined;
  let isStopping = false;
  const stop = async (): Promise<void> => {
    if (isStopping) return;
    isStopping = true;
    await localstack?.stop();
    process.exit(0);
  };
  process.on('SIGINT', stop);
  process.on('SIGTERM', stop);
  print('Starting LocalStack …');
  localstack = await (usesPython ? startPythonProcess(join(dir, 'localstack.log'), print) : startContainer());
  try {
    const { routes, adminKeyFunction } = await deploy(ROOT, localstack.endpoint);
    await setAdminKeys(localstack.endpoint, adminKeyFunction, adminKeys);
    const front = await startFront(localstack.endpoint, routes, port, host);
    process.stdout.write(formatBanner(front.address, adminKeys, 'LocalStack, until it stops'));
  } catch (error) {
    // The same signal ended the deployment.
    if (isStopping) return;
    await localstack.stop();
    throw error;
  }
};

let options: LocalstackOptions | 'help' | undefined;
try {
  options = parseLocalstackOptions(process.argv.slice(2));
  if (options === 'help') process.stdout.write(LOCALSTACK_HELP);
  else await startLocalstack(options);
} catch (error) {
  const { dir, port } = typeof options === 'object' ? options : { dir: '.parley', port: 0 };
  process.stderr.write(`parley: ${formatStartupError(error, { dir, port })}\n`);
  process.exit(1);
}
