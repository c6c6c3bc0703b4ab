import * as z from 'zod';

const text = z.string().trim().min(1);
const count = (most: number, otherwise: number) => z.coerce.number().int().min(1).max(most).default(otherwise);
const seconds = (most: number, otherwise: number) => z.coerce.number().min(1).max(most).default(otherwise);
const flag = z
  .enum(['true', 'false', '1', '0'])
  .default('false')
  .transform((value) => value === 'true' || value === '1');
const url = z.url({ protocol: /^https?$/, error: 'must be an address such as https://parley.example.com' });

/** Everything that a relay is told by its environment. `docs/relay.md` has a line for each. */
export const Settings = z
  .object({
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
    NATS_BATCH_SIZE: count(25, 25),
    NATS_MAX_INFLIGHT: count(10_000, 500),
    NATS_FETCH_TIMEOUT_SECONDS: seconds(300, 30),
    NATS_WARMUP_TIMEOUT_SECONDS: seconds(600, 30),
    NATS_ACK_WAIT_SECONDS: seconds(600, 60),
    PARLEY_QUEUE_VISIBILITY_SECONDS: seconds(600, 30),
    RELAY_HOST: text.default('0.0.0.0'),
    RELAY_PORT: z.coerce.number().int().min(0).max(65_535).default(8080),
  })
  .superRefine((settings, context) => {
    const mistake = (path: keyof typeof settings, message: string): void =>
      context.addIssue({ code: 'custom', path: [path], message });
    const { PARLEY_RELAY_KEY: key, PARLEY_RELAY_KEY_FILE: file, NATS_PASSWORD: password, NATS_USER: user } = settings;
    if ((key === undefined) === (file === undefined)) {
      mistake('PARLEY_RELAY_KEY', 'either this or PARLEY_RELAY_KEY_FILE must be set');
    }
    if ((password === undefined) !== (user === undefined)) mistake('NATS_USER', 'goes together with NATS_PASSWORD');
    const ways = [settings.NATS_CREDS_FILE, settings.NATS_NKEY_SEED_FILE, user, settings.NATS_TOKEN];
    if (ways.filter((way) => way !== undefined).length > 1) {
      mistake('NATS_CREDS_FILE', 'only one of creds, nkey seed, user and token can be used');
    }
    if (settings.NATS_CERT_DIR !== undefined && !settings.NATS_TLS_ENABLED) {
      mistake('NATS_TLS_ENABLED', 'must be true where NATS_CERT_DIR is given');
    }
  });
export type Settings = z.output<typeof Settings>;

/** A mistake that whoever runs the relay can mend: it is told in a few lines, without a stack. */
export class StartError extends Error {}

/** The settings, or one error that names everything wrong with them. */
export const settingsFrom = (environment: Record<string, string | undefined>): Settings => {
  const parsed = Settings.safeParse(environment);
  if (parsed.success) return parsed.data;
  const mistakes = parsed.error.issues.map(({ path, message, code }) => {
    const name = path.join('.');
    return `  ${name}: ${code === 'invalid_type' && environment[name] === undefined ? 'is missing' : message}`;
  });
  throw new StartError(
    `The environment of the relay is not valid:\n${mistakes.join('\n')}\ndocs/relay.md explains each.`,
  );
};
