/** Content too large for a record. Keys are slash-separated names; a blob is written once and never changed. */
export interface Blobs {
  /** Resolves when it is durable. */
  put(key: string, content: string): Promise<void>;
  get(key: string): Promise<string | undefined>;
  /** Deleting what is not there is fine. */
  delete(key: string): Promise<void>;
}
