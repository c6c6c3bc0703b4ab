import type { JsonObject } from './json.ts';

/** A file that comes with a result. */
export interface Artifact {
  name: string;
  /** Its media type. */
  type: string;
  content: string | Uint8Array;
}

const CHUNK = 32_768;

export const encodeArtifact = ({ name, type, content }: Artifact): JsonObject =>
  typeof content === 'string'
    ? { name, type, content }
    : { name, type, content: toBase64(content), encoding: 'base64' };

const toBase64 = (bytes: Uint8Array): string => {
  let text = '';
  for (let start = 0; start < bytes.length; start += CHUNK) {
    text += String.fromCharCode(...bytes.subarray(start, start + CHUNK));
  }
  return btoa(text);
};
