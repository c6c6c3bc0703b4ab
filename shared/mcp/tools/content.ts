import * as z from 'zod';
import { isJsonObject, type Json, type JsonObject } from '../../kernel/json/json.ts';
import { type ApiProblem, type ShownTask, toPathStep } from '../api.ts';

const text = z.string();
const base64 = z.base64();
const Block = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('text'), text }),
  z.looseObject({ type: z.literal('image'), data: base64, mimeType: text }),
  z.looseObject({ type: z.literal('audio'), data: base64, mimeType: text }),
  z.looseObject({ type: z.literal('resource_link'), uri: text, name: text }),
  z.looseObject({
    type: z.literal('resource'),
    resource: z.union([z.looseObject({ uri: text, text }), z.looseObject({ uri: text, blob: base64 })]),
  }),
]);
/** A worker may answer in the content of MCP itself. */
const OwnContent = z.strictObject({
  content: z.array(Block).min(1).max(256),
  structuredContent: z.unknown().optional(),
  isError: z.boolean().optional(),
  _meta: z.record(z.string(), z.unknown()).optional(),
});

export const toText = (value: Json | undefined): string =>
  typeof value === 'string' ? value : JSON.stringify(value ?? null);

/** What a tool answers with: JSON for programs, and the same as text for models. */
export const toToolResult = (value: JsonObject): JsonObject => ({
  content: [{ type: 'text', text: JSON.stringify(value) }],
  structuredContent: value,
});

export const toTextResult = (message: string): JsonObject => ({ content: [{ type: 'text', text: message }] });

/** What an agent made of its task. */
export const toTaskResult = (task: ShownTask): JsonObject => {
  const { id, result, artifacts = [] } = task;
  const own = OwnContent.safeParse(result);
  if (own.success) return own.data as JsonObject;
  const links = artifacts.map(({ name, type }) => ({
    type: 'resource_link',
    uri: buildArtifactResourceUri(id, name),
    name,
    mimeType: type,
  }));
  return {
    content: [{ type: 'text', text: toText(result) }, ...links],
    // Before 2026-07-28, clients take only objects.
    ...(isJsonObject(result) && { structuredContent: result }),
  };
};

export const buildTaskUri = (id: string): string => `parley://tasks/${toPathStep(id)}`;

export const buildArtifactResourceUri = (id: string, name: string): string =>
  `${buildTaskUri(id)}/artifacts/${toPathStep(name)}`;

export const toErrorResult = (code: string, message: string): JsonObject => ({
  content: [{ type: 'text', text: `${code}: ${message}` }],
  isError: true,
});

export const toProblemResult = ({ code, message, problem }: ApiProblem): JsonObject => {
  const { issues } = problem;
  const lines = Array.isArray(issues)
    ? issues.filter(isJsonObject).map(({ path, message: why }) => `${path}: ${why}`)
    : [];
  return toErrorResult(code, [message, ...lines].join('\n'));
};
