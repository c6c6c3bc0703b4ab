import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import type { AdminKey } from '../admin-keys.ts';
import { StartError } from '../cli-options.ts';

const OUTPUT_FOLDER = join('cdk.out', 'localstack');

const Outputs = z.record(z.string(), z.object({ Routes: z.string(), AdminKeyCommand: z.string() }));
const Routes = z.record(z.string(), z.url());

interface DeployedStack {
  routes: Record<string, string>;
  adminKeyFunction: string;
}

export const deploy = async (root: string, endpoint: string): Promise<DeployedStack> => {
  const outputs = join(root, OUTPUT_FOLDER, 'outputs.json');
  const common = ['-c', 'target=localstack', '--output', OUTPUT_FOLDER];
  await runCdklocal(root, endpoint, ['bootstrap', ...common]);
  await runCdklocal(root, endpoint, ['deploy', ...common, '--require-approval', 'never', '--outputs-file', outputs]);
  const [stack] = Object.values(Outputs.parse(JSON.parse(readFileSync(outputs, 'utf8'))));
  const [, adminKeyFunction = ''] = /--function-name (\S+)/.exec(stack?.AdminKeyCommand ?? '') ?? [];
  return { routes: Routes.parse(JSON.parse(stack?.Routes ?? '{}')), adminKeyFunction };
};

const runCdklocal = async (root: string, endpoint: string, args: string[]): Promise<void> => {
  const child = spawn(join(root, 'node_modules', '.bin', 'cdklocal'), args, {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, AWS_ENDPOINT_URL: endpoint, AWS_ENDPOINT_URL_S3: endpoint },
  });
  const [code] = await once(child, 'close');
  if (code !== 0) throw new StartError(`cdklocal ${args[0]} ended with ${code}; what it said is above.`);
};

export const setAdminKeys = async (
  endpoint: string,
  functionName: string,
  adminKeys: readonly AdminKey[],
): Promise<void> => {
  for (const adminKey of adminKeys) await setAdminKey(endpoint, functionName, adminKey);
};

const setAdminKey = async (endpoint: string, functionName: string, { project, key }: AdminKey): Promise<void> => {
  const response = await fetch(`${endpoint}/2015-03-31/functions/${functionName}/invocations`, {
    method: 'POST',
    body: JSON.stringify({ project, key }),
  });
  if (!response.ok || response.headers.has('x-amz-function-error')) {
    throw new StartError(
      `The function ${functionName} could not set the admin key of the project ${project}: ${await response.text()}`,
    );
  }
};
