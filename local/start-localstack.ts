import { resolve } from 'node:path';
import { loadAdminKeys } from './admin-keys.ts';
import { formatBanner } from './banner.ts';
import { LOCALSTACK_HELP, parseLocalstackOptions, type ServerOptions } from './cli-options.ts';
import { createDataFolder } from './create-data-folder.ts';
import { startContainer } from './localstack/container.ts';
import { deploy, setAdminKeys } from './localstack/deploy.ts';
import { startFront } from './localstack/start-front.ts';
import { formatStartupError } from './startup-errors.ts';

const ROOT = resolve(import.meta.dirname, '..');
const LOCALSTACK_PORT = 4566;

const startLocalstack = async ({ dir, port, host }: ServerOptions): Promise<void> => {
  createDataFolder(dir);
  const { default: config } = await import('../parley.config.ts');
  const adminKeys = loadAdminKeys(dir, Object.keys(config.projects), process.env);
  process.stdout.write('Starting LocalStack …\n');
  const container = await startContainer(LOCALSTACK_PORT);
  let isStopping = false;
  const stop = async (): Promise<void> => {
    if (isStopping) return;
    isStopping = true;
    await container.stop();
    process.exit(0);
  };
  process.on('SIGINT', stop);
  process.on('SIGTERM', stop);
  try {
    const { routes, adminKeyFunction } = await deploy(ROOT, container.endpoint);
    await setAdminKeys(container.endpoint, adminKeyFunction, adminKeys);
    const front = await startFront(routes, port, host);
    process.stdout.write(formatBanner(front.address, adminKeys, 'LocalStack, until it stops'));
  } catch (error) {
    if (!isStopping) await container.stop();
    throw error;
  }
};

let options: ServerOptions | 'help' | undefined;
try {
  options = parseLocalstackOptions(process.argv.slice(2));
  if (options === 'help') process.stdout.write(LOCALSTACK_HELP);
  else await startLocalstack(options);
} catch (error) {
  const { dir, port } = typeof options === 'object' ? options : { dir: '.parley', port: 0 };
  process.stderr.write(`parley: ${formatStartupError(error, { dir, port })}\n`);
  process.exit(1);
}
