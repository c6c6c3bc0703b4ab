import type { Effect } from '../dispatch/effect.ts';
import { digest } from '../json/fingerprint.ts';
import type { Json } from '../json/json.ts';
import type { Item, RecordChange, Ref } from '../ports/records.ts';
import type { Content } from '../tasks/task.ts';

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

export const CARD_ID = /^card_[\w-]{43}$/;
export const cardIdOf = (type: CardType, content: Json): string => `card_${digest([type, content])}`;
export const cardRef = (project: string, id: string): Ref<Card> => ({ pk: `${project}#card#${id}`, sk: 'card' });

/** A card is told of nowhere; what it left beside its record goes with it. */
export const cardEffects = ({ before, after }: RecordChange<Card>): Effect[] =>
  before && !after && 'blob' in before.content ? [{ kind: 'forget', blob: before.content.blob }] : [];
