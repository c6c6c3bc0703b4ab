import { isJsonObject, type Json, type JsonObject, toJsonObject } from '../../kernel/json/json.ts';
import type { Artifact } from '../../model/artifact.ts';
import { type A2aArtifact, Part } from './schema.ts';

/** The artifact that the output of a task is. */
export const RESULT_ARTIFACT_ID = 'result';

/** One text is itself and one piece of data too; anything more stays parts. */
export const parseContent = (parts: readonly Part[]): Json => {
  const [only, another] = parts;
  if (only && !another) {
    const { text, data } = only;
    if (text !== undefined && isBare(only, 'text/plain')) return text;
    if (data !== undefined && isBare(only, 'application/json')) return data;
  }
  return { parts: parts.map(toJsonObject) };
};

const isBare = ({ mediaType, filename, metadata }: Part, usual: string): boolean =>
  (mediaType ?? usual) === usual && filename === undefined && metadata === undefined;

/** The inverse of `parseContent`. */
export const buildParts = (content: Json | undefined): JsonObject[] => {
  if (typeof content === 'string') return [{ text: content }];
  if (isJsonObject(content) && Array.isArray(content.parts) && Object.keys(content).length === 1) {
    const parsed = content.parts.map((part) => Part.safeParse(part).data);
    if (parsed.length > 0 && parsed.every((part) => part !== undefined)) return parsed.map(toJsonObject);
  }
  return [{ data: content ?? null }];
};

/** What a message says in words. */
export const readText = (parts: readonly Part[] = []): string | undefined => {
  const texts = parts.flatMap(({ text }) => text ?? []);
  return texts.length === 0 ? undefined : texts.join('\n');
};

/** The type of an artifact of several parts, or of one that lies elsewhere. */
const PARTS_TYPE = 'application/vnd.a2a.parts+json';

export const toArtifact = ({ artifactId, name, parts, ...more }: A2aArtifact): Artifact => {
  const [only, another] = parts;
  const about = { ...toJsonObject(more), ...(name !== undefined && name !== artifactId && { title: name }) };
  const { text, raw, data, mediaType, filename, metadata } = only ?? {};
  if (!another && metadata === undefined) {
    const file = { ...about, name: artifactId, filename };
    if (text !== undefined) return { ...file, type: mediaType ?? 'text/plain', content: text };
    if (raw !== undefined)
      return { ...file, type: mediaType ?? 'application/octet-stream', content: raw, encoding: 'base64' };
    if (data !== undefined && (mediaType ?? 'application/json') === 'application/json')
      return { ...file, type: 'application/json', content: JSON.stringify(data) };
  }
  return { ...about, name: artifactId, type: PARTS_TYPE, content: JSON.stringify(parts) };
};

export const encodeArtifact = ({
  name,
  type,
  content,
  encoding,
  uri,
  filename,
  title,
  bytes: _bytes,
  ...more
}: JsonObject): JsonObject => ({
  ...more,
  artifactId: name,
  name: title ?? name,
  parts: toArtifactParts({ type, content, encoding, uri, filename }),
});

const toArtifactParts = ({ type, content, encoding, uri, filename }: JsonObject): Json => {
  // Too large to be sent along.
  if (typeof content !== 'string') return [{ url: uri, mediaType: type, filename }];
  if (encoding === 'base64') return [{ raw: content, mediaType: type, filename }];
  if (type === PARTS_TYPE) return parseJson(content) ?? [{ text: content }];
  const data = type === 'application/json' ? parseJson(content) : undefined;
  return [data === undefined ? { text: content, mediaType: type, filename } : { data, mediaType: type, filename }];
};

const parseJson = (text: string): Json | undefined => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

export const encodeResultArtifact = (output: Json | undefined): JsonObject => ({
  artifactId: RESULT_ARTIFACT_ID,
  name: RESULT_ARTIFACT_ID,
  parts: buildParts(output),
});

interface ReportedContent {
  output: Json;
  artifacts?: Artifact[];
}

/** The output is the artifact `result`, else what the last message says, else the only artifact if it is no file. */
export const parseOutput = (artifacts: readonly A2aArtifact[], said: readonly Part[] | undefined): ReportedContent => {
  const result = artifacts.find(({ artifactId }) => artifactId === RESULT_ARTIFACT_ID);
  const files = artifacts.filter((artifact) => artifact !== result);
  const [only, another] = files;
  if (result) return { output: parseContent(result.parts), ...toFiles(files) };
  if (said) return { output: parseContent(said), ...toFiles(files) };
  if (only && !another && only.parts.every(({ raw, url }) => raw === undefined && url === undefined))
    return { output: parseContent(only.parts) };
  return { output: {}, ...toFiles(files) };
};

const toFiles = (artifacts: readonly A2aArtifact[]): { artifacts?: Artifact[] } =>
  artifacts.length > 0 ? { artifacts: artifacts.map(toArtifact) } : {};
