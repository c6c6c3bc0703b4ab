import { digest } from '../json/fingerprint.ts';
import { isObject, type Json } from '../json/json.ts';
import type { Item, Ref } from '../ports/records.ts';
import type { Content } from '../tasks/task.ts';
import type { AfterExecution } from '../turns/head.ts';
import { afterExecutionIn, controlIn } from '../turns/tool-call.ts';

const TYPES = ['task.instruction', 'agent.thought', 'tool.call', 'tool.result', 'task.deliverable'] as const;
const SYSTEM_TYPE = /^sys(\.[a-z0-9_]+)+$/;
const LONGEST_TYPE = 64;

export type CardType = (typeof TYPES)[number] | `sys.${string}`;

export const isCardType = (type: unknown): type is CardType =>
  typeof type === 'string' &&
  type.length <= LONGEST_TYPE &&
  (TYPES.some((known) => known === type) || SYSTEM_TYPE.test(type));

export const CARD_TYPES_TEXT = `${TYPES.join(', ')} or sys.<name>`;

/** Content that never changes, known by itself: the same content of the same type is the same card. */
export interface Card extends Item {
  sk: 'card';
  project: string;
  id: string;
  type: CardType;
  /** Who made it first. */
  from: string;
  createdAt: number;
  content: Content;
  expires: number;
}

export const isCard = (item: Item): item is Card => item.sk === 'card';

export const CARD_ID = /^card_[\w.-]{43,64}$/;

/** An id tells without a look at the card that it was made in this project, and what the result in it wants to happen. */
export const cardIdOf = (project: string, type: CardType, content: Json): string => {
  const name = digest([type, content]);
  return idOf(project, name, controlIn(isObject(content) ? content.result : undefined));
};

const idOf = (project: string, name: string, wanted: AfterExecution | undefined): string => {
  const seal = digest([project, name, wanted]).slice(0, SEAL_CHARACTERS);
  return `card_${name}.${seal}${wanted === undefined ? '' : `.${wanted}`}`;
};

/** 48 bits: no id is right by mistake. */
const SEAL_CHARACTERS = 8;

/** What a card of this id wants to happen; undefined for an id that no card of the project was ever given. */
export const controlOf = (project: string, id: string): { wanted?: AfterExecution } | undefined => {
  const [, name = '', word] = /^card_([\w-]{43})\.[\w-]{8}(?:\.(\w+))?$/.exec(id) ?? [];
  const wanted = afterExecutionIn(word);
  return idOf(project, name, wanted) === id ? { wanted } : undefined;
};

export const cardRef = (project: string, id: string): Ref<Card> => ({ pk: `${project}#card#${id}`, sk: 'card' });
