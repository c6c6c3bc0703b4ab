import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync, mkdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { lockFolderWhenFree } from './folder-lock.ts';
import { RunnerError } from './runner-error.ts';

const SOURCES = ['{cdk,functions,shared}/**/*.ts', 'parley.config.ts', 'package-lock.json', 'cdk.json'];
const STACK = 'Parley';

export interface Synthesized {
  template: unknown;
  assets: string;
}

export interface App {
  file: string;
  out: string;
}

const APP: App = { file: 'cdk/app.ts', out: 'cdk.out' };
const PATIENCE_MS = 120_000;

export const loadOrSynthesize = async (
  root: string,
  onProgress: (line: string) => void,
  app = APP,
): Promise<Synthesized> => {
  const assets = join(root, app.out);
  const file = join(assets, `${STACK}.template.json`);
  const isCurrent = (): boolean => {
    const made = statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;
    const all = globSync([...SOURCES, `${dirname(app.file)}/*.ts`], { cwd: root });
    const sources = all.map((source) => statSync(join(root, source)).mtimeMs);
    return made > Math.max(...sources) && readFileSync(file, 'utf8').includes('"AWS::ApiGatewayV2::Api"');
  };
  mkdirSync(assets, { recursive: true });
  const lock = await lockFolderWhenFree(assets, PATIENCE_MS);
  try {
    if (!isCurrent()) {
      onProgress('Synthesizing the AWS template …');
      await synthesize(root, app.file, assets);
    }
    return { template: JSON.parse(readFileSync(file, 'utf8')), assets };
  } finally {
    lock.release();
  }
};

/** Without the CDK command, which asks the network for its version. */
const synthesize = async (root: string, app: string, assets: string): Promise<void> => {
  const context = { 'aws:cdk:enable-asset-metadata': true, 'aws:cdk:enable-path-metadata': true };
  const child = spawn(process.execPath, [app], {
    cwd: root,
    env: { ...process.env, CDK_OUTDIR: assets, CDK_CONTEXT_JSON: JSON.stringify(context) },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let output = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  const [code] = await once(child, 'close');
  if (code !== 0) {
    const why = /^\w*Error: (.+)$/m.exec(output)?.[1] ?? output.trim().split('\n').at(-1) ?? '';
    throw new RunnerError(`The template could not be synthesized: ${why} Run npx cdk synth to see all of it.`);
  }
};
