import { resolve } from 'node:path';
import { adminKeyIn } from './admin-key.ts';
import { makeDataFolder } from './data-folder.ts';
import { faultLine } from './faults.ts';
import { greeting } from './greeting.ts';
import { startContainer } from './localstack/container.ts';
import { deploy, setAdminKey } from './localstack/deploy.ts';
import { startFront } from './localstack/front.ts';
import { LOCALSTACK_HELP, localstackOptionsFrom, type Options } from './options.ts';

const ROOT = resolve(import.meta.dirname, '..');
const LOCALSTACK_PORT = 4566;

const start = async ({ dir, port, host }: Options): Promise<void> => {
  makeDataFolder(dir);
  const adminKey = adminKeyIn(dir, process.env.PARLEY_ADMIN_KEY);
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
    await setAdminKey(container.endpoint, adminKeyFunction, adminKey);
    const front = await startFront(routes, port, host);
    process.stdout.write(greeting(front.address, adminKey, 'LocalStack, until it stops'));
  } catch (error) {
    if (!isStopping) await container.stop();
    throw error;
  }
};

let options: Options | 'help' | undefined;
try {
  options = localstackOptionsFrom(process.argv.slice(2));
  if (options === 'help') process.stdout.write(LOCALSTACK_HELP);
  else await start(options);
} catch (error) {
  const { dir, port } = typeof options === 'object' ? options : { dir: '.parley', port: 0 };
  process.stderr.write(`parley: ${faultLine(error, { dir, port })}\n`);
  process.exit(1);
}
