import type { Deps } from '../deps.ts';
import type { JsonObject } from '../json/json.ts';
import { sized } from '../json/size.ts';
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
  /** Those that messages carry inside themselves. */
  content: Content;
  /** The others, each on its own. */
  large?: { name: string; content: Content }[];
}

export const keptArtifacts = async (
  deps: Deps,
  project: string,
  taskId: string,
  artifacts: Artifact[],
): Promise<KeptArtifacts> => {
  const inside = insideMessages(artifacts);
  const large = artifacts.filter((artifact) => !inside.includes(artifact));
  const [content, ...others] = await Promise.all([
    kept(deps, project, taskId, sized(inside)),
    ...large.map((artifact) => kept(deps, project, taskId, sized(artifact))),
  ]);
  return {
    index: artifacts.map((artifact) => {
      const { name, type } = artifact;
      return { ...furtherOf(artifact), name, type, bytes: bytesOf(artifact).length };
    }),
    content,
    large: others.length > 0 ? others.map((other, at) => ({ name: large[at]?.name ?? '', content: other })) : undefined,
  };
};

/** Of all artifacts, what a message carries inside itself. The others are named in it, with where to get them. */
const INLINE_BYTES = 256 * 1024;

/** As many as fit, the smallest first. */
const insideMessages = (artifacts: Artifact[]): Artifact[] => {
  const sized = artifacts.map((artifact) => ({ artifact, bytes: Buffer.byteLength(JSON.stringify(artifact)) }));
  let left = INLINE_BYTES;
  const inside = new Set<Artifact>();
  for (const { artifact, bytes } of sized.toSorted((a, b) => a.bytes - b.bytes)) {
    left -= bytes;
    if (left >= 0) inside.add(artifact);
  }
  return artifacts.filter((artifact) => inside.has(artifact));
};

/** What an agent said when it completed a task, as it is kept. */
export interface KeptOutput {
  output?: Content;
  artifacts?: KeptArtifacts;
}

export const contentsOf = ({ output, artifacts }: KeptOutput): (Content | undefined)[] =>
  artifacts ? [output, artifacts.content, ...(artifacts.large ?? []).map(({ content }) => content)] : [output];

/** What an agent says of an artifact beside what every one has. */
export const furtherOf = ({ name: _name, type: _type, content: _content, encoding: _encoding, ...further }: Artifact) =>
  further;

export const bytesOf = ({ content, encoding }: Artifact): Buffer => Buffer.from(content, encoding ?? 'utf8');

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
  const inside = await loadedFrom(blobs, project, artifacts.content);
  return artifacts.index.map(
    (entry) => inside.find(({ name }) => name === entry.name) ?? { ...entry, uri: uriOf(taskId, entry.name) },
  );
};

/** The one of the name, if there is one. */
export const loadedArtifact = async (
  blobs: Blobs,
  project: string,
  { content, large }: KeptArtifacts,
  name: string | undefined,
): Promise<Artifact | undefined> => {
  const alone = large?.find((one) => one.name === name);
  const found = await loadedFrom(blobs, project, alone?.content ?? content);
  return found.find((artifact) => artifact.name === name);
};

const loadedFrom = async (blobs: Blobs, project: string, content: Content): Promise<Artifact[]> =>
  [await loaded(blobs, project, content)].flat().filter(isArtifact);

const isArtifact = (value: unknown): value is Artifact =>
  typeof value === 'object' && value !== null && 'name' in value && 'type' in value && 'content' in value;

export const uriOf = (taskId: string, name: string): string =>
  `/v1/tasks/${encodeURIComponent(taskId)}/artifacts/${encodeURIComponent(name)}`;
