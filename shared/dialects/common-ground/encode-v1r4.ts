import type { Encoder } from '../dialect.ts';
import * as inV1r3 from './encode.ts';
import { parseExtensions } from './extensions.ts';
import { HEADER_IDENTITY_VERSION, toVersion } from './versions.ts';

/** A command to a tool is given on as it came, whatever its reader speaks. */
export const encodeRequest: Encoder['encodeRequest'] = (task, ...content) => {
  const message = inV1r3.encodeRequest(task, ...content);
  return parseExtensions(task.extensions).subject === undefined ? toVersion(message, HEADER_IDENTITY_VERSION) : message;
};

export const encodeReport: Encoder['encodeReport'] = (task) =>
  toVersion(inV1r3.encodeReport(task), HEADER_IDENTITY_VERSION);

export const encodeOutcome: Encoder['encodeOutcome'] = (...outcome) =>
  toVersion(inV1r3.encodeOutcome(...outcome), HEADER_IDENTITY_VERSION);

export const encodeDirectMessage: Encoder['encodeDirectMessage'] = (...directMessage) =>
  toVersion(inV1r3.encodeDirectMessage(...directMessage), HEADER_IDENTITY_VERSION);
