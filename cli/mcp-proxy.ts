/** A message of JSON-RPC, looked at no further than a proxy must. */
interface JsonRpcMessage {
  jsonrpc?: string;
  id?: string | number;
  method?: string;
  params?: Record<string, unknown>;
  [field: string]: unknown;
}

const META_VERSION = 'io.modelcontextprotocol/protocolVersion';
const CANCELLED = 'notifications/cancelled';
const CONNECTION_ERROR = -32000;
const PARSE_ERROR = -32700;

/** Brings the messages of a host to `/mcp`, and the answers back: each request is a call of its own. */
export class McpProxy {
  readonly #address: URL;
  readonly #key: string;
  readonly #send: (message: JsonRpcMessage) => void;
  readonly #open = new Map<string | number, AbortController>();
  readonly #running = new Set<Promise<void>>();
  #version: string | undefined;

  constructor(address: URL, key: string, send: (message: object) => void) {
    this.#address = address;
    this.#key = key;
    this.#send = send;
  }

  accept(line: string): void {
    const message = parseMessage(line);
    if (!message) {
      this.#send({ jsonrpc: '2.0', error: { code: PARSE_ERROR, message: 'The line is no JSON object.' } });
      return;
    }
    if (message.method === CANCELLED) {
      this.#open.get(message.params?.requestId as string)?.abort();
      return;
    }
    const running = this.#forward(message).finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  /** When the host has closed its side: what it asked is still answered, unless the process must end. */
  async end(isUrgent: boolean): Promise<void> {
    if (isUrgent) for (const call of this.#open.values()) call.abort();
    await Promise.all(this.#running);
  }

  async #forward(message: JsonRpcMessage): Promise<void> {
    const { id, method } = message;
    const leaving = new AbortController();
    if (id !== undefined) this.#open.set(id, leaving);
    try {
      const response = await fetch(this.#address, {
        method: 'POST',
        headers: this.#buildHeaders(message),
        body: JSON.stringify(message),
        signal: leaving.signal,
      });
      for await (const answer of readAnswers(response)) {
        if (method === 'initialize') this.#version = readVersion(answer);
        if (id !== undefined) this.#send(answer);
      }
    } catch (error) {
      // The host has said that it wants no answer.
      if (leaving.signal.aborted || id === undefined) return;
      this.#send({ jsonrpc: '2.0', id, error: { code: CONNECTION_ERROR, message: describe(error, this.#address) } });
    } finally {
      if (id !== undefined) this.#open.delete(id);
    }
  }

  #buildHeaders({ method, params = {} }: JsonRpcMessage): Record<string, string> {
    const meta = (params._meta ?? {}) as Record<string, unknown>;
    const inMeta = meta[META_VERSION];
    const version = typeof inMeta === 'string' ? inMeta : this.#version;
    const named = params.name ?? params.uri ?? params.taskId;
    return {
      authorization: `Bearer ${this.#key}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(version !== undefined && { 'mcp-protocol-version': version }),
      ...(typeof inMeta === 'string' && method !== undefined && { 'mcp-method': method }),
      ...(typeof inMeta === 'string' && typeof named === 'string' && { 'mcp-name': encodeHeader(named) }),
    };
  }
}

const parseMessage = (line: string): JsonRpcMessage | undefined => {
  try {
    const message: unknown = JSON.parse(line);
    return typeof message === 'object' && message !== null && !Array.isArray(message)
      ? (message as JsonRpcMessage)
      : undefined;
  } catch {
    return undefined;
  }
};

const readVersion = ({ result }: JsonRpcMessage): string | undefined =>
  (result as { protocolVersion?: string } | undefined)?.protocolVersion;

/** Headers take visible ASCII; MCP has a form for the rest. */
const encodeHeader = (value: string): string =>
  /^[!-~](?:[ -~]*[!-~])?$/.test(value) && !value.startsWith('=?base64?')
    ? value
    : `=?base64?${Buffer.from(value).toString('base64')}?=`;

async function* readAnswers(response: Response): AsyncGenerator<JsonRpcMessage> {
  if (!response.headers.get('content-type')?.includes('text/event-stream')) {
    const text = await response.text();
    if (text === '') return;
    const answer = JSON.parse(text) as JsonRpcMessage & { detail?: string };
    // A problem of HTTP, such as a wrong key, is no answer of MCP.
    if (answer.jsonrpc === undefined) throw new Error(answer.detail ?? `HTTP status ${response.status}`);
    yield answer;
    return;
  }
  let rest = '';
  for await (const bytes of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    const lines = (rest + bytes).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      if (line.startsWith('data: ')) yield JSON.parse(line.slice('data: '.length)) as JsonRpcMessage;
    }
  }
}

const describe = (error: unknown, address: URL): string => {
  if (error instanceof TypeError) return `Parley does not answer at ${address.origin}. Is it running?`;
  return error instanceof Error ? error.message : String(error);
};
