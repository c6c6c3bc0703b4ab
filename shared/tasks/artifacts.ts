import type { Deps } from '../identity/deps.ts';
import { ParleyError } from '../kernel/errors.ts';
import { type JsonObject, measureJson } from '../kernel/json/json.ts';
import { type Artifact, MAX_ARTIFACTS, type StoredArtifacts } from '../model/artifact.ts';
import type { Blobs } from '../ports/blobs.ts';
import { loadContent, type StoredContent, storeContent } from '../storage/content.ts';
import { pickExtraFields } from './output-contents.ts';

/** Together with the artifacts that the task has under other names. */
export const storeArtifacts = async (
  deps: Deps,
  project: string,
  taskId: string,
  artifacts: Artifact[],
  earlier?: StoredArtifacts,
): Promise<StoredArtifacts> => {
  const isKept = ({ name }: { name: string }): boolean => !artifacts.some((artifact) => artifact.name === name);
  const index = [...(earlier?.index ?? []).filter(isKept), ...artifacts.map(toIndexEntry)];
  if (index.length > MAX_ARTIFACTS) throw tooManyArtifactsError(taskId, index.length);
  const small = earlier ? await loadArtifacts(deps.blobs, project, earlier.content) : [];
  const all = [...small.filter(isKept), ...artifacts];
  const inside = pickInlineArtifacts(all);
  const apart = all.filter((artifact) => !inside.includes(artifact));
  const [content, ...others] = await Promise.all([
    storeContent(deps, project, taskId, measureJson(inside)),
    ...apart.map((artifact) => storeContent(deps, project, taskId, measureJson(artifact))),
  ]);
  const large = [
    ...(earlier?.large ?? []).filter(isKept),
    ...others.map((other, at) => ({ name: apart[at]?.name ?? '', content: other })),
  ];
  return { index, content, large: large.length > 0 ? large : undefined };
};

const toIndexEntry = (artifact: Artifact) => {
  const { name, type } = artifact;
  return { ...pickExtraFields(artifact), name, type, bytes: decodeArtifact(artifact).length };
};

const tooManyArtifactsError = (taskId: string, count: number): ParleyError =>
  new ParleyError(
    'too_large',
    `The task ${taskId} would have ${count} artifacts, and ${MAX_ARTIFACTS} are allowed. One of the same name replaces another.`,
    { details: { limit: MAX_ARTIFACTS } },
  );

/** Larger artifacts are links in messages. */
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

export const decodeArtifact = ({ content, encoding }: Artifact): Buffer => Buffer.from(content, encoding ?? 'utf8');

interface ArtifactView extends JsonObject {
  name: string;
  type: string;
}

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
