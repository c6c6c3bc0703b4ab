import type { Deps } from '../deps.ts';
import { CODES, ParleyError } from '../errors.ts';
import type { Json } from '../json/json.ts';
import type { Sized } from '../json/size.ts';
import type { Blobs } from '../ports/blobs.ts';
import type { Content } from './task.ts';

/**
 * A task is written about three times, and each write is billed by the whole record (0.625 dollars a million KB), so
 * that content kept inside costs three times its size, while a blob costs 5.8 dollars a million to put, own and get, whatever
 * its size. They meet near 3 KB; 4 KB leaves room for tasks that are read often.
 */
const INLINE_BYTES = 4096;

/** Whether `kept` would put it into a blob. */
export const isLarge = ({ bytes }: Sized<unknown>): boolean => bytes > INLINE_BYTES;

/** Keeps a value inside the record, or where it is large in a blob that nothing else will ever refer to. */
export const kept = (
  deps: Deps,
  project: string,
  ownerId: string,
  content: Sized<Json>,
  inlineBytes = INLINE_BYTES,
): Content | Promise<Content> =>
  content.bytes <= inlineBytes ? { json: content.value } : inBlob(deps, project, ownerId, content);

const inBlob = async (
  { blobs, newId }: Deps,
  project: string,
  ownerId: string,
  { text, bytes }: Sized<Json>,
): Promise<Content> => {
  const blob = `${project}/${ownerId}/${newId()}`;
  await blobs.put(blob, text);
  return { blob, bytes };
};

/** The blobs in which some contents stand. */
export const blobsOf = (contents: (Content | undefined)[]): string[] =>
  contents.flatMap((content) => (content && 'blob' in content ? content.blob : []));

/**
 * For a message that changed nothing, so that nothing of it remains. What the record that was met names stays: then it was this
 * very message that wrote it, its answer was lost, and others had written too when it was repeated.
 */
export const discarded = async (
  blobs: Blobs,
  contents: (Content | undefined)[],
  met: (Content | undefined)[] = [],
): Promise<void> => {
  const named = blobsOf(met);
  const needless = blobsOf(contents).filter((blob) => !named.includes(blob));
  await Promise.all(needless.map((blob) => blobs.delete(blob)));
};

/** Writes what refers to the contents. Only a refusal is certain to have changed nothing, so that nothing of them remains. */
export const unlessRefused = <T>(
  blobs: Blobs,
  contents: (Content | undefined)[],
  write: () => Promise<T>,
): Promise<T> => (blobsOf(contents).length === 0 ? write() : orDiscarded(blobs, contents, write));

const orDiscarded = async <T>(blobs: Blobs, contents: (Content | undefined)[], write: () => Promise<T>): Promise<T> => {
  try {
    return await write();
  } catch (error) {
    const isRefusal = error instanceof ParleyError && CODES[error.code] < 500;
    if (isRefusal) await discarded(blobs, contents);
    throw error;
  }
};

export const loaded = (blobs: Blobs, project: string, content: Content): Json | Promise<Json> =>
  'json' in content ? content.json : fromBlob(blobs, project, content.blob);

/** Whoever names a blob may have been told its name by somebody else: none is read but those of the project. */
const fromBlob = async (blobs: Blobs, project: string, blob: string): Promise<Json> => {
  if (!blob.startsWith(`${project}/`)) throw new Error(`the project ${project} has no blob ${blob}`);
  const text = await blobs.get(blob);
  if (text === undefined) throw new Error(`the blob ${blob} is gone`);
  return JSON.parse(text);
};
