import type { Deps } from '../deps.ts';
import type { JsonObject } from '../json/json.ts';
import type { Blobs } from '../ports/blobs.ts';
import { kept, loaded } from './content.ts';
import type { Content } from './task.ts';

/** A file that a task produced. */
export interface Artifact extends JsonObject {
  name: string;
  /** Its media type. */
  type: string;
  content: string;
  /** Where the content is not text. */
  encoding?: 'base64';
}

interface Entry extends JsonObject {
  name: string;
  type: string;
  bytes: number;
}

/** All artifacts of a task: what they are stands in the record, what is in them may stand elsewhere. */
export interface KeptArtifacts {
  index: Entry[];
  content: Content;
}

export const keptArtifacts = async (
  deps: Deps,
  project: string,
  taskId: string,
  artifacts: Artifact[],
): Promise<KeptArtifacts> => ({
  index: artifacts.map((artifact) => {
    const { name, type } = artifact;
    return { ...furtherOf(artifact), name, type, bytes: bytesOf(artifact).length };
  }),
  content: await kept(deps, project, taskId, artifacts),
});

/** What an agent says of an artifact beside what every one has. */
export const furtherOf = ({ name: _name, type: _type, content: _content, encoding: _encoding, ...further }: Artifact) =>
  further;

export const bytesOf = ({ content, encoding }: Artifact): Buffer => Buffer.from(content, encoding ?? 'utf8');

/** What a message carries inside itself. Larger ones are named in it, with where to get them. */
const INLINE_BYTES = 256 * 1024;

const isInline = ({ content }: KeptArtifacts): boolean => 'json' in content || content.bytes <= INLINE_BYTES;

export interface ShownArtifact extends JsonObject {
  name: string;
  type: string;
}

/** The artifacts as a message shows them. */
export const shownArtifacts = async (
  blobs: Blobs,
  project: string,
  taskId: string,
  artifacts: KeptArtifacts | undefined,
): Promise<ShownArtifact[] | undefined> => {
  if (!artifacts) return undefined;
  if (isInline(artifacts)) return loadedArtifacts(blobs, project, artifacts);
  return artifacts.index.map((entry) => ({ ...entry, uri: uriOf(taskId, entry.name) }));
};

export const loadedArtifacts = async (
  blobs: Blobs,
  project: string,
  { content }: KeptArtifacts,
): Promise<Artifact[]> => {
  const list = await loaded(blobs, project, content);
  return Array.isArray(list) ? list.filter(isArtifact) : [];
};

const isArtifact = (value: unknown): value is Artifact =>
  typeof value === 'object' && value !== null && 'name' in value && 'type' in value && 'content' in value;

export const uriOf = (taskId: string, name: string): string =>
  `/v1/tasks/${encodeURIComponent(taskId)}/artifacts/${encodeURIComponent(name)}`;
