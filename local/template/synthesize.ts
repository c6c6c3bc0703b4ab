import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { StartError } from '../options.ts';

const SOURCES = ['{cdk,functions,shared}/**/*.ts', 'parley.config.ts', 'package-lock.json', 'cdk.json'];
const STACK = 'Parley';

/** The template that was synthesized, and the folder that its assets are in. */
export interface Synthesized {
  template: unknown;
  assets: string;
}

/** The template in `cdk.out`, synthesized anew if it is missing, older than its sources, or made for another target. */
export const synthesized = async (root: string, onProgress: (line: string) => void): Promise<Synthesized> => {
  const assets = join(root, 'cdk.out');
  const file = join(assets, `${STACK}.template.json`);
  const isCurrent = (): boolean => {
    const made = statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;
    const sources = globSync(SOURCES, { cwd: root }).map((source) => statSync(join(root, source)).mtimeMs);
    return made > Math.max(...sources) && readFileSync(file, 'utf8').includes('"AWS::ApiGatewayV2::Api"');
  };
  if (!isCurrent()) {
    onProgress('Synthesizing the AWS template …');
    await synthesize(root, assets);
  }
  return { template: JSON.parse(readFileSync(file, 'utf8')), assets };
};

/** Runs the CDK app as the CDK's own command does, without that command: it would ask the network for its version. */
const synthesize = async (root: string, assets: string): Promise<void> => {
  const context = { 'aws:cdk:enable-asset-metadata': true, 'aws:cdk:enable-path-metadata': true };
  const child = spawn(process.execPath, ['cdk/app.ts'], {
    cwd: root,
    env: { ...process.env, CDK_OUTDIR: assets, CDK_CONTEXT_JSON: JSON.stringify(context) },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  const [code] = await once(child, 'close');
  if (code !== 0) {
    const why = /^\w*Error: (.+)$/m.exec(said)?.[1] ?? said.trim().split('\n').at(-1) ?? '';
    throw new StartError(`The template could not be synthesized: ${why} Run npx cdk synth to see all of it.`);
  }
};
