import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import { StartError } from '../options.ts';

const FOLDER = join('cdk.out', 'localstack');

const Outputs = z.record(z.string(), z.object({ Routes: z.string(), AdminKeyCommand: z.string() }));
const Routes = z.record(z.string(), z.url());

interface Deployed {
  /** Which address has which route. */
  routes: Record<string, string>;
  /** The function that sets the admin key. */
  adminKeyFunction: string;
}

export const deploy = async (root: string, endpoint: string): Promise<Deployed> => {
  const outputs = join(root, FOLDER, 'outputs.json');
  const common = ['-c', 'target=localstack', '--output', FOLDER];
  await cdklocal(root, endpoint, ['bootstrap', ...common]);
  await cdklocal(root, endpoint, ['deploy', ...common, '--require-approval', 'never', '--outputs-file', outputs]);
  const [stack] = Object.values(Outputs.parse(JSON.parse(readFileSync(outputs, 'utf8'))));
  const [, adminKeyFunction = ''] = /--function-name (\S+)/.exec(stack?.AdminKeyCommand ?? '') ?? [];
  return { routes: Routes.parse(JSON.parse(stack?.Routes ?? '{}')), adminKeyFunction };
};

const cdklocal = async (root: string, endpoint: string, args: string[]): Promise<void> => {
  const child = spawn(join(root, 'node_modules', '.bin', 'cdklocal'), args, {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, AWS_ENDPOINT_URL: endpoint, AWS_ENDPOINT_URL_S3: endpoint.replace('//', '//s3.') },
  });
  const [code] = await once(child, 'close');
  if (code !== 0) throw new StartError(`cdklocal ${args[0]} ended with ${code}; what it said is above.`);
};

/** As an operator would set it. */
export const setAdminKey = async (endpoint: string, functionName: string, key: string): Promise<void> => {
  const response = await fetch(`${endpoint}/2015-03-31/functions/${functionName}/invocations`, {
    method: 'POST',
    body: JSON.stringify({ key }),
  });
  if (!response.ok || response.headers.has('x-amz-function-error')) {
    throw new StartError(`The function ${functionName} could not set the admin key: ${await response.text()}`);
  }
};
