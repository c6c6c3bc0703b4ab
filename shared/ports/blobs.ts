import { ParleyError } from '../kernel/errors.ts';

/**
 * Content too large for a record. Keys are slash-separated names; a blob is written once and never changed. It is put before the
 * record that names it is written, and whoever puts it may die in between: what no record owns goes by itself.
 */
export interface Blobs {
  /** Resolves when it is durable. It stays for a day at least, and for good once it is owned. */
  put(key: string, content: string): Promise<void>;
  /** Throws `content_damaged` where it is there, but not as it was put. */
  get(key: string): Promise<string | undefined>;
  /** A record names it, so that it stays until it is deleted. Resolves when that is durable. Owning it again, or what is not there, is fine. */
  retain(key: string): Promise<void>;
  /** Deleting what is not there is fine. */
  delete(key: string): Promise<void>;
}

/** It names whose content it is, by the key's middle part, and never passes by itself. */
export const contentDamagedError = (key: string, what: 'damaged' | 'gone', cause?: unknown): ParleyError => {
  const owner = key.split('/').slice(1, -1).join('/');
  const message = `The content of ${owner} is ${what} in the storage, and cannot be read any more; all else about it is as it was. Ask whoever sent it to send it again.`;
  return new ParleyError('content_damaged', message, { details: { content: owner }, cause });
};
