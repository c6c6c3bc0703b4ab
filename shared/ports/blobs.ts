/**
 * Content too large for a record. Keys are slash-separated names; a blob is written once and never changed. It is put before the
 * record that names it is written, and whoever puts it may die in between: what no record owns goes by itself.
 */
export interface Blobs {
  /** Resolves when it is durable. It stays for a day at least, and for good once it is owned. */
  put(key: string, content: string): Promise<void>;
  get(key: string): Promise<string | undefined>;
  /** A record names it, so that it stays until it is deleted. Resolves when that is durable. Owning it again, or what is not there, is fine. */
  own(key: string): Promise<void>;
  /** Deleting what is not there is fine. */
  delete(key: string): Promise<void>;
}
