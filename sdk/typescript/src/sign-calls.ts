/** How an agent proves that a call is its own. `publicKey` or `hmacSecret` of its registration is the other half. */
export type Signing =
  | { /** Ed25519, as PEM (PKCS #8). */ privateKey: string }
  | { hmacSecret: string }
  /** For keys of another kind, or keys that cannot leave where they are: SHA-256 with RSA, or with EC as DER. */
  | { sign: (text: Uint8Array<ArrayBuffer>) => Uint8Array | Promise<Uint8Array> };

interface SignedCall {
  method: string;
  /** Without the query. */
  path: string;
  headers: Readonly<Record<string, string | undefined>>;
  body: unknown;
  /** By the clock of the server. */
  now: number;
}

export type SignCall = (call: SignedCall) => Promise<Record<string, string>>;

/** A signature is valid for a minute, so every repetition of a call has its own. */
export const createCallSigner = (signing: Signing): SignCall => {
  const sign = createSign(signing);
  return async ({ method, path, headers, body, now }) => {
    const timestamp = new Date(now).toISOString();
    const text = toCanonicalJson({
      call: `${method} ${decodeURIComponent(path)}`,
      timestamp,
      broadcast: headers['parley-broadcast'],
      dialect: headers['parley-dialect'],
      body: body instanceof Uint8Array ? undefined : body,
    });
    const signature = await sign(new TextEncoder().encode(text));
    return { 'parley-timestamp': timestamp, 'parley-signature': toBase64(signature) };
  };
};

const createSign = (signing: Signing): ((text: Uint8Array<ArrayBuffer>) => Uint8Array | Promise<Uint8Array>) => {
  if ('sign' in signing) return signing.sign;
  let key: ReturnType<typeof crypto.subtle.importKey> | undefined;
  if ('hmacSecret' in signing) {
    const secret = new TextEncoder().encode(signing.hmacSecret);
    return async (text) => {
      key ??= crypto.subtle.importKey('raw', secret, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);
      return new Uint8Array(await crypto.subtle.sign('HMAC', await key, text));
    };
  }
  const bytes = parsePem(signing.privateKey);
  return async (text) => {
    key ??= crypto.subtle.importKey('pkcs8', bytes, 'Ed25519', false, ['sign']);
    return new Uint8Array(await crypto.subtle.sign('Ed25519', await key, text));
  };
};

const parsePem = (pem: string): Uint8Array<ArrayBuffer> => {
  const [, base64] = /-----BEGIN PRIVATE KEY-----([^-]+)-----END PRIVATE KEY-----/.exec(pem) ?? [];
  if (!base64) throw new TypeError('The private key must be PEM that begins with -----BEGIN PRIVATE KEY-----.');
  return Uint8Array.from(atob(base64.replace(/\s/g, '')), (character) => character.charCodeAt(0));
};

const toBase64 = (bytes: Uint8Array): string => btoa(String.fromCharCode(...bytes));

/** Sorted keys, no white space. */
const toCanonicalJson = (value: unknown): string => {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  if (Array.isArray(value)) return `[${value.map(toCanonicalJson).join(',')}]`;
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${toCanonicalJson(member)}`).join(',')}}`;
};
