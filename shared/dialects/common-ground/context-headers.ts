import type { JsonObject } from '../../kernel/json/json.ts';
import { type CommonGroundHeaders, findHeader } from './headers.ts';

/** Who a call is made for, and what it belongs to: the user and the conversation of other protocols. */
export const USER_HEADER = 'CG-User-ID';
export const CONTEXT_HEADER = 'CG-Context-ID';
const EXTENSION_HEADERS = [USER_HEADER, 'CG-Channel-ID', CONTEXT_HEADER];
const MAX_EXTENSION_LENGTH = 1024;
const MAX_LABEL_LENGTH = 256;

/** As the user or the conversation of a task. */
export const toLabel = (said: unknown): string | undefined =>
  typeof said === 'string' && said !== '' ? said.slice(0, MAX_LABEL_LENGTH) : undefined;

/** The user and the conversation of a task, as headers of the turn that works on it. */
export const buildExtensionHeaders = ({
  user,
  conversation,
}: {
  user?: string;
  conversation?: string;
}): JsonObject | undefined =>
  user === undefined && conversation === undefined
    ? undefined
    : { [USER_HEADER]: user, [CONTEXT_HEADER]: conversation };

/** What the protocol names and gives no meaning to: a call carries it to its worker. */
export const pickExtensionHeaders = (headers: CommonGroundHeaders): JsonObject | undefined => {
  const said = EXTENSION_HEADERS.map((name): [string, unknown] => [name, findHeader(headers, name.toLowerCase())]);
  const texts = said.flatMap(([name, value]) =>
    value === undefined || value === '' ? [] : [[name, String(value).slice(0, MAX_EXTENSION_LENGTH)]],
  );
  return texts.length > 0 ? Object.fromEntries(texts) : undefined;
};

/** The user and the context that a command names, or else those of the turn that gives it: each of them alone. */
export const pickContextHeaders = (
  headers: CommonGroundHeaders,
  turn: JsonObject | undefined,
): JsonObject | undefined => {
  const said = { ...turn, ...pickExtensionHeaders(headers) };
  const known = [USER_HEADER, CONTEXT_HEADER].filter((name) => typeof said[name] === 'string');
  return known.length > 0 ? Object.fromEntries(known.map((name) => [name, said[name]])) : undefined;
};
