/** One agent's calls to Parley. */
export interface Parley {
  agent: string;
  // biome-ignore lint/suspicious/noExplicitAny: answers are JSON, and an example need not check what Parley checks
  call(method: string, path: string, body?: object, headers?: Record<string, string>): Promise<any>;
  /** Keeps content and gives the id of its card. The same content again gives the same id. */
  card(type: string, content: unknown): Promise<string>;
}

/** A refusal, with the stable code that says what to do about it. */
export class Refused extends Error {
  readonly code: string;

  constructor(code: string, detail: string) {
    super(`${code}: ${detail}`);
    this.code = code;
  }
}

/** For as long as Parley cannot be reached, or asks to try later, every call is tried again: all of them may safely be repeated. */
const AGAIN_MS = 500;

export const parleyFor = (url: string, agent: string, key: string): Parley => {
  const call: Parley['call'] = async (method, path, body, headers = {}) => {
    for (;;) {
      const response = await fetch(url + path, {
        method,
        headers: { authorization: `Bearer ${key}`, ...headers },
        body: body && JSON.stringify(body),
      }).catch(() => undefined);
      const text = await response?.text().catch(() => undefined);
      if (response?.ok && text !== undefined) return text === '' ? undefined : JSON.parse(text);
      if (response && text !== undefined && response.status < 500 && response.status !== 429) {
        const { code, detail } = JSON.parse(text);
        throw new Refused(code, detail);
      }
      await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
    }
  };
  const card: Parley['card'] = async (type, content) => (await call('POST', '/v1/cards', { type, content })).card_id;
  return { agent, call, card };
};

/** What the process was told, or one line that says what is missing. */
export const setting = (name: string): string => {
  const value = process.env[name];
  if (value) return value;
  console.error(`Set ${name}; README.md says how to start.`);
  process.exit(1);
};
