import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { Caller, Reply } from './api.ts';

export type McpMode = 'auto' | 'legacy';

/** The official client, connected to `/mcp` or to an agent below it. */
export const connectMcp = async (
  t: { after(cleanUp: () => unknown): void },
  address: string,
  key: string,
  { mode = 'auto', path = '/mcp', onElicit }: McpOptions = {},
): Promise<Client> => {
  const transport = new StreamableHTTPClientTransport(new URL(path, address), {
    requestInit: { headers: { authorization: `Bearer ${key}` } },
  });
  const capabilities = onElicit ? { elicitation: { form: {} } } : {};
  const client = new Client({ name: 'test', version: '1' }, { capabilities, versionNegotiation: { mode } });
  if (onElicit) {
    client.setRequestHandler('elicitation/create', async ({ params }) => ({
      action: 'accept',
      content: onElicit(params.message),
    }));
  }
  await client.connect(transport);
  t.after(() => client.close());
  return client;
};

interface McpOptions {
  mode?: McpMode;
  path?: string;
  onElicit?: (message: string) => Record<string, string>;
}

const META = 'io.modelcontextprotocol';
export const TASKS_EXTENSION = `${META}/tasks`;
const NAMED_BY = ['name', 'uri', 'taskId'];

interface McpRequestOptions {
  capabilities?: object;
  /** Instead of those that belong to the request; `undefined` leaves one out. */
  headers?: Record<string, string | undefined>;
  path?: string;
  version?: string;
}

/** A request of MCP 2026-07-28 by hand, with the headers that belong to it. */
export const sendMcp = (
  caller: Caller,
  method: string,
  params: Record<string, unknown> = {},
  { capabilities = {}, headers = {}, path = '/mcp', version = '2026-07-28' }: McpRequestOptions = {},
): Promise<Reply> => {
  const field = NAMED_BY.find((one) => typeof params[one] === 'string');
  const _meta = { [`${META}/protocolVersion`]: version, [`${META}/clientCapabilities`]: capabilities };
  const sent = {
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': version,
    'mcp-method': method,
    'mcp-name': field && String(params[field]),
    ...headers,
  };
  const given = Object.entries(sent).filter((one): one is [string, string] => one[1] !== undefined);
  const body = { jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } };
  return caller.call('POST', path, body, Object.fromEntries(given));
};
