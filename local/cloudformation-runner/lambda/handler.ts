import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

export type Handler = (event: unknown, context: object, callback: Callback) => unknown;
type Callback = (error: unknown, result?: unknown) => void;

export interface HandlerError {
  errorType: string;
  errorMessage: string;
  trace: string[];
}

/** `name` is that of the file without its ending, a dot, and that of the export. */
export const loadHandler = async (folder: string, name: string): Promise<Handler> => {
  const dot = name.lastIndexOf('.');
  const base = join(folder, name.slice(0, dot));
  const file = ['.mjs', '.js', '.cjs'].map((ending) => base + ending).find((each) => existsSync(each));
  if (!file) throw new Error(`Cannot find module '${name.slice(0, dot)}'`);
  const module: Record<string, unknown> = await import(pathToFileURL(file).href);
  const handler = module[name.slice(dot + 1)];
  if (!isHandler(handler)) throw new Error(`${name} is undefined or not exported`);
  return handler;
};

const isHandler = (value: unknown): value is Handler => typeof value === 'function';

/** The result as JSON. */
export const callHandler = async (handler: Handler, event: string, context: object): Promise<string> => {
  const result = await new Promise((resolve, reject) => {
    const callback: Callback = (error, value) => (error ? reject(error) : resolve(value));
    const returned = handler(JSON.parse(event), context, callback);
    if (returned !== undefined || handler.length < 3) resolve(returned);
  });
  return JSON.stringify(result) ?? 'null';
};

export interface ContextFields {
  functionName: string | undefined;
  invokedFunctionArn: string;
  memoryLimitInMB: string | undefined;
  awsRequestId: string;
  /** In ms since 1970. */
  deadline: number;
}

export const buildContext = ({ deadline, ...fields }: ContextFields): object => ({
  callbackWaitsForEmptyEventLoop: true,
  functionVersion: '$LATEST',
  logGroupName: process.env.AWS_LAMBDA_LOG_GROUP_NAME,
  logStreamName: process.env.AWS_LAMBDA_LOG_STREAM_NAME,
  getRemainingTimeInMillis: () => Math.max(0, deadline - Date.now()),
  ...fields,
});

export const describeError = (error: unknown): HandlerError => ({
  errorType: error instanceof Error ? error.name : 'Error',
  errorMessage: error instanceof Error ? error.message : String(error),
  trace: error instanceof Error ? (error.stack ?? '').split('\n') : [],
});
