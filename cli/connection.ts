import { hostname } from 'node:os';
import { connect, type Parley, ParleyError } from '../sdk/typescript/src/index.ts';
import type { OptionValues } from './command.ts';
import { resolveConnection } from './profiles.ts';

/** A person does not wait a minute for a server that is not there. */
const RETRY_FOR = '3s';

export const connectFrom = (options: OptionValues): Parley =>
  connect({ ...resolveConnection(options), retryFor: RETRY_FOR });

export const isAdminKey = ({ key }: { key: string }): boolean => !/^prl_[^.]+\.(?!@)[^.]+\./.test(key);

/** An agent of this name with a key of its own: an admin key speaks for nobody. */
export const connectAsAgent = async (
  options: OptionValues,
  name: string,
  registration: { capabilities?: string[] } = {},
): Promise<Parley> => {
  const found = resolveConnection(options);
  if (!isAdminKey(found)) return connect({ ...found, retryFor: RETRY_FOR });
  const admin = connect({ ...found, retryFor: RETRY_FOR });
  await admin.call('PUT', `/v1/agents/${name}`, { body: { dialect: 'native', ...registration } });
  const { key } = await admin.call<{ key: string }>('POST', `/v1/agents/${name}/key`);
  return connect({ url: found.url, key, retryFor: RETRY_FOR });
};

/** One for each machine and user, so that nobody takes another's key. */
export const toAgentName = (purpose: string): string =>
  `${purpose}-${process.env.USER ?? 'user'}-${hostname()}`
    .toLowerCase()
    .replace(/[^a-z0-9_-]+/g, '-')
    .slice(0, 64);

export { ParleyError };
