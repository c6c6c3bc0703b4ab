import { ParleyError } from '../kernel/errors.ts';

/**
 * Write-once; keys are slash-separated names. A blob is put before its record, and the caller may crash between:
 * unretained blobs are deleted.
 */
export interface Blobs {
  /** Resolves when durable. Kept for at least a day, and until `delete` once retained. */
  put(key: string, content: string): Promise<void>;
  /** Throws `content_damaged` if the content differs from the put. */
  get(key: string): Promise<string | undefined>;
  /** A record refers to the blob, so it stays until deleted. Resolves when durable. A missing blob is no error. */
  retain(key: string): Promise<void>;
  /** A missing blob is no error. */
  delete(key: string): Promise<void>;
}

/** Names the owner by the middle part of the key. */
export const contentDamagedError = (key: string, what: 'damaged' | 'gone', cause?: unknown): ParleyError => {
  const owner = key.split('/').slice(1, -1).join('/');
  const message = `The content of ${owner} is ${what} in the storage, and cannot be read any more; all else about it is as it was. Ask whoever sent it to send it again.`;
  return new ParleyError('content_damaged', message, { details: { content: owner }, cause });
};
