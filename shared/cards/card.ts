import type { AfterExecution } from '../identity/tools/tool.ts';
import { computeDigest } from '../kernel/json/fingerprint.ts';
import { isObject, type Json } from '../kernel/json/json.ts';
import { parseAfterExecution, parseAfterExecutionControl } from '../model/tool-call.ts';
import type { Item, Ref } from '../ports/records.ts';
import type { StoredContent } from '../storage/content.ts';

const CARD_TYPES = ['task.instruction', 'agent.thought', 'tool.call', 'tool.result', 'task.deliverable'] as const;
const SYSTEM_TYPE = /^sys(\.[a-z0-9_]+)+$/;
const MAX_TYPE_LENGTH = 64;

export type CardType = (typeof CARD_TYPES)[number] | `sys.${string}`;

export const isCardType = (type: unknown): type is CardType =>
  typeof type === 'string' &&
  type.length <= MAX_TYPE_LENGTH &&
  (CARD_TYPES.some((known) => known === type) || SYSTEM_TYPE.test(type));

export const CARD_TYPES_TEXT = `${CARD_TYPES.join(', ')} or sys.<name>`;

/** Content that never changes, known by itself: the same content of the same type is the same card. */
export interface Card extends Item {
  sk: 'card';
  project: string;
  id: string;
  type: CardType;
  /** Who made it first. */
  from: string;
  createdAt: number;
  content: StoredContent;
  expires: number;
}

export const CARD_ID_PATTERN = /^card_[\w.-]{43,64}$/;

/** An id tells without a look at the card that it was made in this project, and what the result in it wants to happen. */
export const computeCardId = (project: string, type: CardType, content: Json): string => {
  const name = computeDigest([type, content]);
  return formatCardId(project, name, parseAfterExecutionControl(isObject(content) ? content.result : undefined));
};

const formatCardId = (project: string, name: string, wanted: AfterExecution | undefined): string => {
  const seal = computeDigest([project, name, wanted]).slice(0, CHECK_DIGITS);
  return `card_${name}.${seal}${wanted === undefined ? '' : `.${wanted}`}`;
};

/** 48 bits: no id is right by mistake. */
const CHECK_DIGITS = 8;

/** What a card of this id wants to happen; undefined for an id that no card of the project was ever given. */
export const parseCardControl = (project: string, id: string): { wanted?: AfterExecution } | undefined => {
  const [, name = '', word] = /^card_([\w-]{43})\.[\w-]{8}(?:\.(\w+))?$/.exec(id) ?? [];
  const wanted = parseAfterExecution(word);
  return formatCardId(project, name, wanted) === id ? { wanted } : undefined;
};

export const cardRef = (project: string, id: string): Ref<Card> => ({ pk: `${project}#card#${id}`, sk: 'card' });
