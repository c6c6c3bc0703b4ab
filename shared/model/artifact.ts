import type { JsonObject } from '../kernel/json/json.ts';
import type { StoredContent } from '../storage/content.ts';

/** A file that a task produced. */
export interface Artifact extends JsonObject {
  name: string;
  /** Its media type. */
  type: string;
  content: string;
  /** Where the content is not text. */
  encoding?: 'base64';
}

interface ArtifactIndexEntry extends JsonObject {
  name: string;
  type: string;
  bytes: number;
}

/** How many a task has at the most. */
export const MAX_ARTIFACTS = 64;

/** All artifacts of a task: what they are stands in the record, what is in them may stand elsewhere. */
export interface StoredArtifacts {
  index: ArtifactIndexEntry[];
  /** Those that messages carry inside themselves. */
  content: StoredContent;
  /** The others, each on its own. */
  large?: { name: string; content: StoredContent }[];
}
