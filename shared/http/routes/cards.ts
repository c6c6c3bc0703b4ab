import * as z from 'zod';
import {
  CARD_TYPE,
  CARD_TYPES_TEXT,
  type Card,
  type CardType as CardKind,
  isCardType,
  MAX_CARD_TYPE_LENGTH,
} from '../../cards/card.ts';
import { getCard, putCard } from '../../cards/put-card.ts';
import { getCallerName } from '../../identity/auth/authenticate.ts';
import type { Deps } from '../../identity/deps.ts';
import { jsonValue } from '../../kernel/json/parse-or-throw.ts';
import { toIso } from '../../ports/clock.ts';
import { loadContent } from '../../storage/content.ts';
import { defineRoute, largeBodyLimit, type Route } from '../route.ts';

const CardType = z
  .custom<CardKind>(isCardType, {
    error: ({ input }) => `${JSON.stringify(input)?.slice(0, 80)} is no type of card: it must be ${CARD_TYPES_TEXT}`,
  })
  .meta({ type: 'string', pattern: CARD_TYPE.source, maxLength: MAX_CARD_TYPE_LENGTH, description: CARD_TYPES_TEXT });

export const CardView = z
  .object({
    card_id: z.string(),
    type: z.string(),
    content: z.unknown().describe('any JSON'),
    created_by: z.string(),
    created_at: z.iso.datetime(),
    expires_at: z.iso.datetime(),
  })
  .meta({ id: 'Card' });

export const toCardView = async (deps: Deps, card: Card): Promise<z.output<typeof CardView>> => ({
  card_id: card.id,
  type: card.type,
  content: await loadContent(deps.blobs, card.project, card.content),
  created_by: card.from,
  created_at: toIso(card.createdAt),
  expires_at: toIso(card.expires),
});

const CreatedCard = z.object({ card_id: z.string().describe('derived from type and content') });

export const cardRoutes: Route[] = [
  defineRoute({
    operationId: 'createCard',
    method: 'POST',
    path: '/v1/cards',
    summary: 'Create a card: immutable content with an id',
    bodyBytes: largeBodyLimit,
    body: z.strictObject({ type: CardType, content: jsonValue }),
    responses: {
      201: {
        description: 'Created, now or before',
        schema: CreatedCard,
      },
    },
    handle: async ({ deps, caller, body }) => {
      const { id } = await putCard(deps, caller.project, getCallerName(caller), body.type, body.content);
      return { status: 201, body: { card_id: id } };
    },
  }),
  defineRoute({
    operationId: 'getCard',
    method: 'GET',
    path: '/v1/cards/{id}',
    summary: 'Get a card with its content',
    responses: { 200: { description: 'The card', schema: CardView }, 404: { description: 'No such card' } },
    handle: async ({ deps, caller, params }) => ({
      status: 200,
      body: await toCardView(deps, await getCard(deps, caller.project, params.id ?? '')),
    }),
  }),
];
