import type { CallOptions, Transport } from '../transport.ts';
import { OPERATIONS, type Operations } from './operations.ts';

export type OperationName = keyof Operations;
type Arguments<Name extends OperationName> = Operations[Name]['args'];

/** Every call of the HTTP API under the name that it has in /openapi.json, typed, and repeated like all others. */
export type Api = {
  readonly [Name in OperationName]: Record<never, never> extends Arguments<Name>
    ? (args?: Arguments<Name>, options?: OperationOptions) => Promise<Operations[Name]['result']>
    : (args: Arguments<Name>, options?: OperationOptions) => Promise<Operations[Name]['result']>;
};

export type OperationOptions = Pick<CallOptions, 'headers' | 'signal' | 'retryForMs'>;

export const createApi = (transport: Transport): Api =>
  Object.fromEntries(
    Object.entries(OPERATIONS).map(([name, call]) => [
      name,
      (args: Record<string, unknown> = {}, options: OperationOptions = {}) =>
        callOperation(transport, call, args, options),
    ]),
  ) as unknown as Api;

const callOperation = (
  transport: Transport,
  call: string,
  { body, ...parameters }: Record<string, unknown>,
  options: OperationOptions,
): Promise<unknown> => {
  const [method = '', template = '', reading] = call.split(' ');
  const query: Record<string, string | number | boolean | undefined> = {};
  let path = template;
  for (const [name, value] of Object.entries(parameters)) {
    const place = `{${name}}`;
    if (template.includes(place)) path = path.replace(place, encodeURIComponent(String(value)));
    else query[name] = value as string | number | boolean | undefined;
  }
  const whole = { ...options, query, body, waitMs: 1000 * (getWait(parameters) ?? getWait(body) ?? 0) };
  if (reading === 'bytes') return transport.download(path, whole);
  if (reading === 'text') return transport.download(path, whole).then((bytes) => new TextDecoder().decode(bytes));
  return transport.call(method, path, whole);
};

const getWait = (value: unknown): number | undefined => {
  const { wait } = (value ?? {}) as { wait?: unknown };
  return typeof wait === 'number' ? wait : undefined;
};
