import type { AfterExecution } from '../identity/tools/tool.ts';
import { computeDigest } from '../kernel/json/fingerprint.ts';
import { isObject, type Json } from '../kernel/json/json.ts';
import { parseAfterExecution, parseAfterExecutionControl } from '../model/tool-call.ts';
import type { Item, Ref } from '../ports/records.ts';
import type { StoredContent } from '../storage/content.ts';

/** Words that a dot separates: `task.deliverable`, `meta.parent_pointer`. */
export const CARD_TYPE = /^[a-z][a-z0-9_]*(\.[a-z0-9_]+)+$/;
export const MAX_CARD_TYPE_LENGTH = 64;

export type CardType = `${string}.${string}`;

export const isCardType = (type: unknown): type is CardType =>
  typeof type === 'string' && type.length <= MAX_CARD_TYPE_LENGTH && CARD_TYPE.test(type);

export const CARD_TYPES_TEXT = '<word>.<name>, such as tool.result or task.deliverable';

/** Identified by its content: the same content and type is the same card. */
export interface Card extends Item {
  sk: 'card';
  project: string;
  id: string;
  type: CardType;
  from: string;
  createdAt: number;
  content: StoredContent;
  expires: number;
}

export const CARD_ID_PATTERN = /^card_[\w.-]{43,64}$/;

/** The id alone proves the project and contains what the result wants to happen. */
export const computeCardId = (project: string, type: CardType, content: Json): string => {
  const name = computeDigest([type, content]);
  return formatCardId(project, name, parseAfterExecutionControl(isObject(content) ? content.result : undefined));
};

const formatCardId = (project: string, name: string, wanted: AfterExecution | undefined): string => {
  const seal = computeDigest([project, name, wanted]).slice(0, CHECK_DIGITS);
  return `card_${name}.${seal}${wanted === undefined ? '' : `.${wanted}`}`;
};

/** 48 bits against accidental matches. */
const CHECK_DIGITS = 8;

/** Undefined for an id that no card of the project can have. */
export const parseCardControl = (project: string, id: string): { wanted?: AfterExecution } | undefined => {
  const [, name = '', word] = /^card_([\w-]{43})\.[\w-]{8}(?:\.(\w+))?$/.exec(id) ?? [];
  const wanted = parseAfterExecution(word);
  return formatCardId(project, name, wanted) === id ? { wanted } : undefined;
};

export const cardRef = (project: string, id: string): Ref<Card> => ({ pk: `${project}#card#${id}`, sk: 'card' });
