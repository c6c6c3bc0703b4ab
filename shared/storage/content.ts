import { ParleyError, STATUS_BY_CODE } from '../kernel/errors.ts';
import type { Json, MeasuredJson } from '../kernel/json/json.ts';
import { type Blobs, contentDamagedError } from '../ports/blobs.ts';

/**
 * A task is written about three times, and each write is billed by the whole record (0.625 dollars a million KB), so
 * that content kept inside costs three times its size, while a blob costs 5.8 dollars a million to put, own and get, whatever
 * its size. They meet near 3 KB; 4 KB leaves room for tasks that are read often.
 */
const INLINE_CONTENT_BYTES = 4096;

/** Whether `kept` would put it into a blob. */
export const isStoredAsBlob = ({ bytes }: MeasuredJson<unknown>): boolean => bytes > INLINE_CONTENT_BYTES;

interface ContentStore {
  blobs: Blobs;
  newId: () => string;
}

/** Keeps a value inside the record, or where it is large in a blob that nothing else will ever refer to. */
export const storeContent = (
  deps: ContentStore,
  project: string,
  ownerId: string,
  content: MeasuredJson<Json>,
  inlineBytes = INLINE_CONTENT_BYTES,
): StoredContent | Promise<StoredContent> =>
  content.bytes <= inlineBytes ? { json: content.value } : putBlobContent(deps, project, ownerId, content);

const putBlobContent = async (
  { blobs, newId }: ContentStore,
  project: string,
  ownerId: string,
  { json, bytes }: MeasuredJson<Json>,
): Promise<StoredContent> => {
  const blob = `${project}/${ownerId}/${newId()}`;
  await blobs.put(blob, json);
  return { blob, bytes };
};

/** The blobs in which some contents stand. */
export const listBlobKeys = (contents: (StoredContent | undefined)[]): string[] => {
  const keys: string[] = [];
  for (const content of contents) if (content && 'blob' in content) keys.push(content.blob);
  return keys;
};

/**
 * For a message that changed nothing, so that nothing of it remains. What the record that was existing names stays: then it was this
 * very message that wrote it, its answer was lost, and others had written too when it was repeated.
 */
export const deleteOrphans = async (
  blobs: Blobs,
  contents: (StoredContent | undefined)[],
  existing: (StoredContent | undefined)[] = [],
): Promise<void> => {
  const named = listBlobKeys(existing);
  const needless = listBlobKeys(contents).filter((blob) => !named.includes(blob));
  await Promise.all(needless.map((blob) => blobs.delete(blob)));
};

/** Writes what refers to the contents. Only a refusal is certain to have changed nothing, so that nothing of them remains. */
export const withBlobCleanup = <T>(
  blobs: Blobs,
  contents: (StoredContent | undefined)[],
  write: () => Promise<T>,
): Promise<T> => (listBlobKeys(contents).length === 0 ? write() : writeOrDeleteOrphans(blobs, contents, write));

const writeOrDeleteOrphans = async <T>(
  blobs: Blobs,
  contents: (StoredContent | undefined)[],
  write: () => Promise<T>,
): Promise<T> => {
  try {
    return await write();
  } catch (error) {
    const isRefusal =
      error instanceof ParleyError && STATUS_BY_CODE[error.code] < 500 && error.code !== 'content_damaged';
    if (isRefusal) await deleteOrphans(blobs, contents);
    throw error;
  }
};

export const loadContent = (blobs: Blobs, project: string, content: StoredContent): Json | Promise<Json> =>
  'json' in content ? content.json : loadBlobContent(blobs, project, content.blob);

/** Whoever names a blob may have been told its name by somebody else: none is read but those of the project. */
const loadBlobContent = async (blobs: Blobs, project: string, blob: string): Promise<Json> => {
  if (!blob.startsWith(`${project}/`)) throw new Error(`the project ${project} has no blob ${blob}`);
  const text = await blobs.get(blob);
  if (text === undefined) throw contentDamagedError(blob, 'gone');
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw contentDamagedError(blob, 'damaged', cause);
  }
};
/** A value in the record itself, or the key and size of the blob that holds it. */
export type StoredContent = { json: Json } | { blob: string; bytes: number };
