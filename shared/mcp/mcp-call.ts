import * as z from 'zod';
import type { JsonObject } from '../kernel/json/json.ts';
import { jsonObject } from '../kernel/json/parse-or-throw.ts';
import { invalidMetaError } from './rpc-error.ts';
import { MODERN_VERSION } from './versions.ts';

const META = 'io.modelcontextprotocol';
export const TASKS_EXTENSION = `${META}/tasks`;
export const SUBSCRIPTION_ID = `${META}/subscriptionId`;

const ClientCapabilities = z.looseObject({
  elicitation: jsonObject.optional(),
  extensions: z.record(z.string(), jsonObject).optional(),
});

export const RequestMeta = z.looseObject({
  [`${META}/protocolVersion`]: z.string().max(64).optional(),
  [`${META}/clientCapabilities`]: ClientCapabilities.optional(),
  progressToken: z.union([z.string().max(256), z.number()]).optional(),
  traceparent: z.string().max(64).optional(),
});

/** One JSON-RPC request, checked against its headers. */
export interface McpCall {
  id: string | number;
  method: string;
  params: JsonObject;
  version: string;
  headers: Readonly<Record<string, string | undefined>>;
  progressToken: string | number | undefined;
  traceparent: string | undefined;
  canElicit: boolean;
  canFollowTasks: boolean;
}

/** From this revision on, each request is complete in itself, and each result names its type. */
export const isModern = ({ version }: Pick<McpCall, 'version'>): boolean => version === MODERN_VERSION;

export const getMetaVersion = (meta: z.output<typeof RequestMeta>): string | undefined =>
  meta[`${META}/protocolVersion`] as string | undefined;

export const assertCapabilitiesGiven = (meta: z.output<typeof RequestMeta>): void => {
  if (meta[`${META}/clientCapabilities`] !== undefined) return;
  throw invalidMetaError(`params._meta must have ${META}/clientCapabilities in MCP ${MODERN_VERSION}.`);
};

/** In the old era, a server without sessions cannot know what a client is capable of. */
export const readClientCapabilities = (
  meta: z.output<typeof RequestMeta>,
): Pick<McpCall, 'canElicit' | 'canFollowTasks'> => {
  const { elicitation, extensions = {} } = ClientCapabilities.parse(meta[`${META}/clientCapabilities`] ?? {});
  // Without a mode, a client has forms.
  const hasForms = elicitation !== undefined && (Object.keys(elicitation).length === 0 || 'form' in elicitation);
  return { canElicit: hasForms, canFollowTasks: Object.hasOwn(extensions, TASKS_EXTENSION) };
};
