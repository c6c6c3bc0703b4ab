import type { NatsOptions } from '../relay/connect.ts';

export const parseNatsUrl = (url: string): { options: NatsOptions; shown: string } => {
  const { protocol, host, username, password } = new URL(url);
  const [user, pass] = [decodeURIComponent(username), decodeURIComponent(password)];
  const account = pass === '' ? (user === '' ? {} : { token: user }) : { user, pass };
  const tls = protocol === 'tls:' ? { tls: {} } : {};
  return { options: { servers: `${protocol}//${host}`, ...tls, ...account }, shown: `${protocol}//${host}` };
};

export const checkNatsUrl = (url: string): string | undefined => {
  try {
    const { protocol, hostname, pathname, search } = new URL(url);
    const isPlain = (pathname === '' || pathname === '/') && search === '';
    if ((protocol === 'nats:' || protocol === 'tls:') && hostname !== '' && isPlain) return undefined;
  } catch {}
  return `--nats must be an address such as nats://127.0.0.1:4222, or off, not "${url}".`;
};
