import type { Deps } from '../identity/deps.ts';
import type { JsonObject } from '../kernel/json/json.ts';
import { measureJson } from '../kernel/json/measure-json.ts';
import type { Artifact, StoredArtifacts } from '../model/artifact.ts';
import type { Blobs } from '../ports/blobs.ts';
import type { StoredContent } from '../storage/content.ts';
import { loadContent, storeContent } from '../storage/content.ts';

export const storeArtifacts = async (
  deps: Deps,
  project: string,
  taskId: string,
  artifacts: Artifact[],
): Promise<StoredArtifacts> => {
  const inside = pickInlineArtifacts(artifacts);
  const large = artifacts.filter((artifact) => !inside.includes(artifact));
  const [content, ...others] = await Promise.all([
    storeContent(deps, project, taskId, measureJson(inside)),
    ...large.map((artifact) => storeContent(deps, project, taskId, measureJson(artifact))),
  ]);
  return {
    index: artifacts.map((artifact) => {
      const { name, type } = artifact;
      return { ...pickExtraFields(artifact), name, type, bytes: decodeArtifact(artifact).length };
    }),
    content,
    large: others.length > 0 ? others.map((other, at) => ({ name: large[at]?.name ?? '', content: other })) : undefined,
  };
};

/** Of all artifacts, what a message carries inside itself. The others are named in it, with where to get them. */
const INLINE_ARTIFACT_BYTES = 256 * 1024;

/** As many as fit, the smallest first. */
const pickInlineArtifacts = (artifacts: Artifact[]): Artifact[] => {
  const sized = artifacts.map((artifact) => ({ artifact, bytes: Buffer.byteLength(JSON.stringify(artifact)) }));
  let left = INLINE_ARTIFACT_BYTES;
  const inside = new Set<Artifact>();
  for (const { artifact, bytes } of sized.toSorted((a, b) => a.bytes - b.bytes)) {
    left -= bytes;
    if (left >= 0) inside.add(artifact);
  }
  return artifacts.filter((artifact) => inside.has(artifact));
};

/** What an agent said when it completed a task, as it is kept. */
export interface StoredOutput {
  output?: StoredContent;
  artifacts?: StoredArtifacts;
}

export const listOutputContents = ({ output, artifacts }: StoredOutput): (StoredContent | undefined)[] =>
  artifacts ? [output, artifacts.content, ...(artifacts.large ?? []).map(({ content }) => content)] : [output];

/** What an agent says of an artifact beside what every one has. */
export const pickExtraFields = ({
  name: _name,
  type: _type,
  content: _content,
  encoding: _encoding,
  ...further
}: Artifact) => further;

export const decodeArtifact = ({ content, encoding }: Artifact): Buffer => Buffer.from(content, encoding ?? 'utf8');

export interface ArtifactView extends JsonObject {
  name: string;
  type: string;
}

/** The artifacts as a message shows them. */
export const loadArtifactViews = async (
  blobs: Blobs,
  project: string,
  taskId: string,
  artifacts: StoredArtifacts | undefined,
): Promise<ArtifactView[] | undefined> => {
  if (!artifacts) return undefined;
  const inside = await loadArtifacts(blobs, project, artifacts.content);
  return artifacts.index.map(
    (entry) =>
      inside.find(({ name }) => name === entry.name) ?? { ...entry, uri: buildArtifactUri(taskId, entry.name) },
  );
};

/** The one of the name, if there is one. */
export const loadArtifact = async (
  blobs: Blobs,
  project: string,
  { content, large }: StoredArtifacts,
  name: string | undefined,
): Promise<Artifact | undefined> => {
  const alone = large?.find((one) => one.name === name);
  const found = await loadArtifacts(blobs, project, alone?.content ?? content);
  return found.find((artifact) => artifact.name === name);
};

const loadArtifacts = async (blobs: Blobs, project: string, content: StoredContent): Promise<Artifact[]> =>
  [await loadContent(blobs, project, content)].flat().filter(isArtifact);

const isArtifact = (value: unknown): value is Artifact =>
  typeof value === 'object' && value !== null && 'name' in value && 'type' in value && 'content' in value;

export const buildArtifactUri = (taskId: string, name: string): string =>
  `/v1/tasks/${encodeURIComponent(taskId)}/artifacts/${encodeURIComponent(name)}`;
