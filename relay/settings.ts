import * as z from 'zod';
import { checkFiles } from './check-files.ts';

const text = z.string().trim().min(1);
const boundedCount = (most: number, otherwise: number) => z.coerce.number().int().min(1).max(most).default(otherwise);
const boundedSeconds = (most: number, otherwise: number) => z.coerce.number().min(1).max(most).default(otherwise);
const flag = z
  .enum(['true', 'false', '1', '0'])
  .default('false')
  .transform((value) => value === 'true' || value === '1');
const url = z.url({ protocol: /^https?$/, error: 'must be an address such as https://parley.example.com' });

export const RelaySettings = z.object({
  PARLEY_URL: url.transform((address) => address.replace(/\/$/, '')),
  PARLEY_RELAY_KEY: text.optional(),
  PARLEY_RELAY_KEY_FILE: text.optional(),
  PARLEY_QUEUE_URL_PREFIX: z.url({ protocol: /^https?$/, error: 'must be what the URLs of the queues begin with' }),
  NATS_SERVERS: text.transform((servers) => servers.split(',').map((server) => server.trim())),
  NATS_TLS_ENABLED: flag,
  NATS_CERT_DIR: text.optional(),
  NATS_CREDS_FILE: text.optional(),
  NATS_NKEY_SEED_FILE: text.optional(),
  NATS_USER: text.optional(),
  NATS_PASSWORD: text.optional(),
  NATS_TOKEN: text.optional(),
  NATS_BATCH_SIZE: boundedCount(25, 25),
  NATS_MAX_INFLIGHT: boundedCount(10_000, 500),
  NATS_FETCH_TIMEOUT_SECONDS: boundedSeconds(300, 30),
  NATS_WARMUP_TIMEOUT_SECONDS: boundedSeconds(600, 30),
  NATS_ACK_WAIT_SECONDS: boundedSeconds(600, 60),
  PARLEY_QUEUE_VISIBILITY_SECONDS: boundedSeconds(600, 30),
  RELAY_HOST: text.default('0.0.0.0'),
  RELAY_PORT: z.coerce.number().int().min(0).max(65_535).default(8080),
});
export type RelaySettings = z.output<typeof RelaySettings>;

/** Logged without a stack. */
export class RelayStartError extends Error {}

/** Empty variables count as unset. */
export const parseSettings = (environment: Record<string, string | undefined>): RelaySettings => {
  const given = Object.fromEntries(Object.entries(environment).filter(([, value]) => value?.trim()));
  const { data, error } = RelaySettings.safeParse(given);
  const ofEach = (error?.issues ?? []).map(({ path, message }): SettingIssue => {
    const name = path.join('.');
    return [name, given[name] === undefined ? 'is missing' : message];
  });
  const mistakes = [...ofEach, ...checkCombinations(given), ...checkFiles(given)];
  if (data && mistakes.length === 0) return data;
  const lines = mistakes.map(([name, mistake]) => `  ${name}: ${mistake}`);
  throw new RelayStartError(
    `The environment of the relay is not valid:\n${lines.join('\n')}\ndocs/guides/nats.md explains each.`,
  );
};

type SettingIssue = [variable: string, mistake: string];

const checkCombinations = (given: Record<string, string | undefined>): SettingIssue[] => {
  const has = (name: string): boolean => given[name] !== undefined;
  const isTls = ['true', '1'].includes(given.NATS_TLS_ENABLED ?? '');
  const ways = ['NATS_CREDS_FILE', 'NATS_NKEY_SEED_FILE', 'NATS_USER', 'NATS_TOKEN'].filter(has);
  const rules: [isBroken: boolean, ...SettingIssue][] = [
    [
      has('PARLEY_RELAY_KEY') === has('PARLEY_RELAY_KEY_FILE'),
      'PARLEY_RELAY_KEY',
      'either this or PARLEY_RELAY_KEY_FILE must be set',
    ],
    [has('NATS_USER') !== has('NATS_PASSWORD'), 'NATS_USER', 'goes together with NATS_PASSWORD'],
    [ways.length > 1, ways[0] ?? '', `only one of ${ways.join(', ')} can be used`],
    [has('NATS_CERT_DIR') && !isTls, 'NATS_TLS_ENABLED', 'must be true where NATS_CERT_DIR is given'],
  ];
  return rules.flatMap(([isBroken, name, mistake]): SettingIssue[] => (isBroken ? [[name, mistake]] : []));
};
