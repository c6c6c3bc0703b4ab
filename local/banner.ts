import { isIP } from 'node:net';
import { DEFAULT_PROJECT } from '../shared/identity/auth/keys.ts';
import type { AdminKey } from './admin-keys.ts';

/** Prints a key once, when it is made: output ends up in logs and terminal history. */
export const formatBanner = (
  address: string,
  [main, ...others]: [AdminKey, ...AdminKey[]],
  dir: string,
  nats?: string,
  consoleLink?: string,
): string =>
  `Parley is listening on ${address} and keeps its state in ${dir}
${[main, ...others].map((one) => `${formatKeySource(one)}\n`).join('')}${nats === undefined ? '' : `${nats}\n`}${
  isLoopbackAddress(address) ? '' : `${PLAIN_HTTP_WARNING}\n`
}${consoleLink === undefined ? '' : `\nOpen the console (this link signs in once, within an hour):\n${consoleLink}\n`}
See what it knows:
curl -s ${address}/v1/domains -H "Authorization: Bearer ${toShellExpression(main)}"

Ctrl-C stops it.
`;

const formatKeySource = ({ project, key, source }: AdminKey): string => {
  const whose = project === DEFAULT_PROJECT ? 'The admin key' : `The admin key of the project ${project}`;
  if ('variable' in source) return `${whose} is that of ${source.variable}`;
  return source.isNew
    ? `${whose}, shown only now, is ${key}\nIt is kept in ${source.file}`
    : `${whose} is in ${source.file}`;
};

const toShellExpression = ({ source }: AdminKey): string =>
  'file' in source ? `$(cat '${source.file.replaceAll("'", `'\\''`)}')` : `$${source.variable}`;

const PLAIN_HTTP_WARNING =
  'It speaks plain HTTP, and others can reach it: put TLS in front (SECURITY.md), or whoever is on the way reads keys and messages.';

const isLoopbackAddress = (address: string): boolean => {
  const { hostname } = new URL(address);
  const name = hostname.replace(/^\[|\]$/g, '');
  return name === 'localhost' || name === '::1' || (isIP(name) === 4 && name.startsWith('127.'));
};
