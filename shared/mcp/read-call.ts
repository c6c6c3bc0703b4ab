import * as z from 'zod';
import type { Json, JsonObject } from '../kernel/json/json.ts';
import { jsonObject } from '../kernel/json/parse-or-throw.ts';
import { decodeHeader, headerMismatchError } from './header-values.ts';
import {
  assertCapabilitiesGiven,
  getMetaVersion,
  type McpCall,
  RequestMeta,
  readClientCapabilities,
} from './mcp-call.ts';
import { invalidMetaError, RPC_CODES, RpcError } from './rpc-error.ts';
import { HEADERLESS_VERSION, MODERN_VERSION, SUPPORTED_VERSIONS } from './versions.ts';

const RequestId = z.union([z.string().max(256), z.number().int()]);

const Envelope = z.looseObject({
  jsonrpc: z.literal('2.0'),
  id: RequestId.optional(),
  method: z.string().min(1).max(128),
  params: jsonObject.optional(),
});

type Headers = Readonly<Record<string, string | undefined>>;

/** Of the id alone: an error about the rest of the message still names its request. */
export const readRequestId = (body: unknown): string | number | undefined => {
  const { success, data } = z.object({ id: RequestId }).safeParse(body);
  return success ? data.id : undefined;
};

/** The request in a body; undefined for a notification. */
export const readCall = (body: unknown, headers: Headers): McpCall | undefined => {
  const { success, data, error } = Envelope.safeParse(body);
  if (!success) throw new RpcError(RPC_CODES.invalidRequest, `The body is no JSON-RPC request: ${describe(error)}.`);
  const { id, method, params = {} } = data;
  if (id === undefined) return undefined;
  const parsed = RequestMeta.safeParse(params._meta ?? {});
  if (!parsed.success) throw invalidMetaError(`params._meta: ${describe(parsed.error)}.`);
  const meta = parsed.data;
  const version = negotiateVersion(method, getMetaVersion(meta), headers['mcp-protocol-version']);
  if (version === MODERN_VERSION) {
    assertHeadersMatch(method, params, headers);
    assertCapabilitiesGiven(meta);
  }
  return {
    id,
    method,
    params,
    version,
    progressToken: meta.progressToken,
    traceparent: meta.traceparent,
    headers,
    ...readClientCapabilities(meta),
  };
};

const describe = ({ issues: [issue] }: z.ZodError): string =>
  issue ? `${issue.path.join('.') || 'it'}: ${issue.message}` : 'not valid';

/** By the message itself from 2026-07-28 on, before that by the header alone. */
const negotiateVersion = (method: string, inMeta: string | undefined, inHeader: string | undefined): string => {
  if (method === 'initialize' && inMeta === undefined) return inHeader ?? HEADERLESS_VERSION;
  const version = inMeta ?? inHeader ?? HEADERLESS_VERSION;
  if (inMeta !== undefined && inMeta !== inHeader) {
    throw headerMismatchError('MCP-Protocol-Version', inHeader, inMeta);
  }
  if (!SUPPORTED_VERSIONS.includes(version)) {
    const data: Json = { supported: [...SUPPORTED_VERSIONS], requested: version };
    throw new RpcError(RPC_CODES.unsupportedVersion, `Parley does not speak MCP ${version}.`, data);
  }
  if (version === MODERN_VERSION && inMeta === undefined) {
    throw invalidMetaError(`params._meta must have io.modelcontextprotocol/protocolVersion in MCP ${MODERN_VERSION}.`);
  }
  return version;
};

/** Which parameter `Mcp-Name` repeats. */
const NAMED_BY: Readonly<Record<string, string>> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
  'tasks/get': 'taskId',
  'tasks/update': 'taskId',
  'tasks/cancel': 'taskId',
};

const assertHeadersMatch = (method: string, params: JsonObject, headers: Headers): void => {
  if (headers['mcp-method'] !== method) throw headerMismatchError('Mcp-Method', headers['mcp-method'], method);
  const field = NAMED_BY[method];
  const named = field === undefined ? undefined : params[field];
  if (typeof named !== 'string') return;
  const given = decodeHeader(headers['mcp-name']);
  if (given !== named) throw headerMismatchError('Mcp-Name', given, named);
};
