import type { JsonObject } from '../../kernel/json/json.ts';
import type { Encoder } from '../dialect.ts';
import * as inV1r3 from './encode.ts';
import { parseExtensions } from './extensions.ts';
import { HEADER_IDENTITY_VERSION, toVersion } from './versions.ts';

/** What is given on as it came keeps its version, whatever its reader speaks. */
const toOwnVersion = (message: JsonObject, extensions: JsonObject): JsonObject =>
  parseExtensions(extensions).subject === undefined ? toVersion(message, HEADER_IDENTITY_VERSION) : message;

export const encodeRequest: Encoder['encodeRequest'] = (task, ...content) =>
  toOwnVersion(inV1r3.encodeRequest(task, ...content), task.extensions);

export const encodeReport: Encoder['encodeReport'] = (task) =>
  toVersion(inV1r3.encodeReport(task), HEADER_IDENTITY_VERSION);

export const encodeOutcome: Encoder['encodeOutcome'] = (...outcome) =>
  toVersion(inV1r3.encodeOutcome(...outcome), HEADER_IDENTITY_VERSION);

export const encodeDirectMessage: Encoder['encodeDirectMessage'] = (directMessage, content) =>
  toOwnVersion(inV1r3.encodeDirectMessage(directMessage, content), directMessage.extensions);
