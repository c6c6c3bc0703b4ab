import { ConnectionError, type Parley, ParleyError } from '../../sdk/typescript/src/index.ts';
import { bad, type Check, ok, warn } from './check.ts';

interface Whoami {
  role: string;
  name: string;
  agent?: string;
  scope: string;
  scopes: string[];
  expiresAt?: string;
  isRotated: boolean;
}

const SOON_MS = 7 * 24 * 3600 * 1000;
const DAY_MS = 24 * 3600 * 1000;
const MAX_SKEW_MS = 10_000;

/** Whether it answers, and whose key it is. Without a key that is good, nothing more can be asked. */
export const checkDeployment = async (parley: Parley): Promise<{ checks: Check[]; whoami?: Whoami }> => {
  let nats: string | undefined;
  let skewMs = 0;
  parley.when('skewed', ({ offsetMs }) => {
    skewMs = offsetMs;
  });
  try {
    ({ nats } = await parley.call<{ nats?: string }>('GET', '/healthz', { retryForMs: 0 }));
  } catch (error) {
    if (error instanceof ParleyError) return { checks: [bad('server', error.message, `ask the log of ${parley.url}`)] };
    if (!(error instanceof ConnectionError)) throw error;
    return { checks: [bad('server', error.message, '`parley up` starts one here; --url names another')] };
  }
  const checks = [ok('server', `${parley.url} answers`), checkTls(parley.url)];
  if (nats === 'waiting')
    checks.push(bad('NATS', 'the relay is not connected', 'see whether the NATS server runs; the log says why'));
  else if (nats !== undefined) checks.push(ok('NATS', 'the relay is connected'));
  try {
    const whoami = await parley.call<Whoami>('GET', '/v1/whoami', { retryForMs: 0 });
    checks.push(checkKey(whoami));
    if (Math.abs(skewMs) > MAX_SKEW_MS)
      checks.push(
        warn('clock', `${Math.round(skewMs / 1000)} s off that of the server`, 'set the clock of this machine'),
      );
    return { checks, whoami };
  } catch (error) {
    if (!(error instanceof ParleyError)) throw error;
    return { checks: [...checks, bad('key', error.message, 'pass --key, set PARLEY_KEY, or add a profile')] };
  }
};

const checkTls = (url: string): Check => {
  if (url.startsWith('https://')) return ok('TLS', 'on');
  return /^http:\/\/(localhost|127\.|\[::1\])/.test(url)
    ? ok('TLS', 'not needed on this machine')
    : bad('TLS', `keys and messages travel unencrypted to ${url}`, 'put TLS in front of the server');
};

const checkKey = ({ agent, name, scope, expiresAt, isRotated }: Whoami): Check => {
  const says = `${agent === undefined ? `the operator's "${name}"` : `of the agent ${agent}`}, may ${scope}`;
  if (isRotated) return warn('key', `${says}; there is a newer one`, 'use the newer key: this one ends soon');
  const left = expiresAt === undefined ? Number.POSITIVE_INFINITY : Date.parse(expiresAt) - Date.now();
  return left < SOON_MS
    ? warn('key', `${says}; ends in ${Math.max(0, Math.floor(left / DAY_MS))} days`, `parley keys rotate ${name}`)
    : ok('key', says);
};
