import * as z from 'zod';
import { nameOf } from '../../agents/authenticate.ts';
import { CARD_TYPES_TEXT, type Card, type CardType as CardKind, isCardType } from '../../cards/card.ts';
import { findCard, keepCard } from '../../cards/keep-card.ts';
import type { Deps } from '../../deps.ts';
import { jsonValue } from '../../json/checked.ts';
import { iso } from '../../json/iso.ts';
import { loaded } from '../../tasks/content.ts';
import { noBody, noQuery, type Route, route } from '../route.ts';

const CardType = z
  .custom<CardKind>(isCardType, {
    error: ({ input }) => `${JSON.stringify(input)?.slice(0, 80)} is no type of card: it must be ${CARD_TYPES_TEXT}`,
  })
  .meta({ type: 'string', description: CARD_TYPES_TEXT });

export const CardView = z.object({
  card_id: z.string(),
  type: z.string(),
  content: z.unknown().describe('any JSON'),
  created_by: z.string(),
  created_at: z.iso.datetime(),
  expires_at: z.iso.datetime(),
});

export const viewOf = async (deps: Deps, card: Card): Promise<z.output<typeof CardView>> => ({
  card_id: card.id,
  type: card.type,
  content: await loaded(deps.blobs, card.project, card.content),
  created_by: card.from,
  created_at: iso(card.createdAt),
  expires_at: iso(card.expires),
});

const CardMade = z.object({ card_id: z.string().describe('follows from type and content') });

export const cardRoutes: Route[] = [
  route({
    method: 'POST',
    path: '/v1/cards',
    summary: 'Keep content that never changes, and get the id by which messages refer to it',
    query: noQuery,
    body: z.strictObject({ type: CardType, content: jsonValue }),
    answers: {
      200: { description: 'The same card was there already', schema: CardMade },
      201: { description: 'Kept', schema: CardMade },
    },
    handle: async ({ deps, caller, body }) => {
      const { id, isNew } = await keepCard(deps, caller.project, nameOf(caller), body.type, body.content);
      return { status: isNew ? 201 : 200, body: { card_id: id } };
    },
  }),
  route({
    method: 'GET',
    path: '/v1/cards/{id}',
    summary: 'One card with its content',
    query: noQuery,
    body: noBody,
    answers: { 200: { description: 'The card', schema: CardView }, 404: { description: 'No such card' } },
    handle: async ({ deps, caller, params }) => ({
      status: 200,
      body: await viewOf(deps, await findCard(deps, caller.project, params.id ?? '')),
    }),
  }),
];
