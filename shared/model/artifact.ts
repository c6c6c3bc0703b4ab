import type { JsonObject } from '../kernel/json/json.ts';
import type { StoredContent } from '../storage/content.ts';

/** A file that a task produced. */
export interface Artifact extends JsonObject {
  name: string;
  /** Media type. */
  type: string;
  content: string;
  /** For binary content. */
  encoding?: 'base64';
}

interface ArtifactIndexEntry extends JsonObject {
  name: string;
  type: string;
  bytes: number;
}

export const MAX_ARTIFACTS = 64;

/** The index is in the record; the content may be in a blob. */
export interface StoredArtifacts {
  index: ArtifactIndexEntry[];
  /** Artifacts that messages contain inline. */
  content: StoredContent;
  /** The others, each by itself. */
  large?: { name: string; content: StoredContent }[];
}
