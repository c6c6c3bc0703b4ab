import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { StartError } from '../cli-options.ts';
import { type LocalStack, SETTINGS, VERSION, waitForHealth } from './localstack.ts';

const IMAGE = `localstack/localstack:${VERSION}`;
const CONTAINER_NAME = 'parley-localstack';
const PORT = 4566;
/** The first start downloads a gigabyte. */
const START_TIMEOUT_MS = 300_000;

const runDocker = (...args: string[]): Promise<{ stdout: string }> => promisify(execFile)('docker', args);

export const startContainer = async (): Promise<LocalStack> => {
  await runDocker('info').catch((cause: unknown) => {
    throw new StartError(
      'Docker does not answer. Start it, or run LocalStack without it: npm run start:localstack -- --python. ' +
        'The same template runs without LocalStack as well: npm run start:aws.',
      { cause },
    );
  });
  await runDocker(
    ...['run', '--detach', '--rm', '--name', CONTAINER_NAME, '--publish', `127.0.0.1:${PORT}:4566`],
    // LocalStack runs each function in a container.
    ...['--volume', '/var/run/docker.sock:/var/run/docker.sock'],
    ...Object.entries(SETTINGS).flatMap(([name, value]) => ['--env', `${name}=${value}`]),
    IMAGE,
  );
  // An address, not a name: names below localhost.localstack.cloud need a DNS that answers with loopback addresses.
  const endpoint = `http://127.0.0.1:${PORT}`;
  const stop = async (): Promise<void> => {
    await runDocker('stop', CONTAINER_NAME);
  };
  try {
    await waitForHealth(endpoint, START_TIMEOUT_MS, `docker logs ${CONTAINER_NAME}`);
  } catch (error) {
    await stop();
    throw error;
  }
  return { endpoint, stop };
};
