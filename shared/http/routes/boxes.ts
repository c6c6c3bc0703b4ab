import * as z from 'zod';
import { BOX_KINDS, type Box, getBox, listBoxCards } from '../../cards/box.ts';
import { CARD_ID_PATTERN } from '../../cards/card.ts';
import { createContextBox, createOutputBox } from '../../cards/create-box.ts';
import type { Config } from '../../config/config.ts';
import { getCallerName, resolveActor } from '../../identity/auth/authenticate.ts';
import { boundedArray } from '../../kernel/json/bounded-schemas.ts';
import { toIso } from '../../ports/clock.ts';
import { appendToBox } from '../../turns/lifecycle/append-to-box.ts';
import { boundedCount, defineRoute, type Route } from '../route.ts';
import { CardView, toCardView as cardView } from './cards.ts';
import { onBehalfOf } from './common-fields.ts';

const CardId = z.string().regex(CARD_ID_PATTERN, 'must be the id of a card');
/** The configuration may allow fewer, and no more. */
const MAX_CARDS = 2000;
/** A transaction, and an answer, stay small. */
const MAX_CARDS_PER_READ = 100;

/** An id has 48 characters, and what stands around it. */
const buildIdsSchema = ({ cards }: Config): number => 8192 + cards.perBox * 64;

const TurnId = z.string().regex(/^[!-~]{1,128}$/, 'must be the id of a turn');

const NewBox = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('context').describe('`context`: created with all its cards, and immutable'),
    cards: boundedArray(CardId, { min: 1, max: MAX_CARDS }),
  }),
  z.strictObject({
    kind: z.literal('output').describe('`output`: one writer appends cards'),
    box_id: z
      .string()
      .regex(/^(?!box_)[\w-]{1,64}$/, 'must be 1 to 64 letters, digits, _ and -, and not begin with box_')
      .optional()
      .describe('an id that makes the call repeatable. By default Parley creates one'),
    agent_id: onBehalfOf.describe('the writer. By default the caller'),
    agent_turn_id: TurnId.optional().describe('the turn of the box. Every append must then send its `turn_epoch`'),
    cards: boundedArray(CardId, { max: MAX_CARDS }).default([]),
  }),
]);

const BoxView = z
  .object({
    box_id: z.string(),
    kind: z.enum(BOX_KINDS),
    cards: z.array(z.string()).describe('card ids, in order'),
    agent_id: z.string().optional().describe('who may append'),
    agent_turn_id: z.string().optional(),
    created_by: z.string(),
    created_at: z.iso.datetime(),
    expires_at: z.iso.datetime(),
  })
  .meta({ id: 'Box' });

const toBoxView = (box: Box): z.output<typeof BoxView> => ({
  box_id: box.id,
  kind: box.kind,
  cards: box.cards,
  agent_id: box.writer,
  agent_turn_id: box.turn,
  created_by: box.from,
  created_at: toIso(box.createdAt),
  expires_at: toIso(box.expires),
});

const notFound = { 404: { description: 'No such box' } };

export const boxRoutes: Route[] = [
  defineRoute({
    operationId: 'createBox',
    method: 'POST',
    path: '/v1/boxes',
    summary: 'Create a box: an ordered list of cards',
    bodyBytes: buildIdsSchema,
    body: NewBox,
    responses: {
      200: { description: 'A duplicate: the box existed before', schema: BoxView },
      201: { description: 'Created', schema: BoxView },
    },
    handle: async ({ deps, caller, body, makeId }) => {
      const { project } = caller;
      const { box, isNew } =
        body.kind === 'context'
          ? await createContextBox(deps, project, getCallerName(caller), body.cards)
          : await createOutputBox(deps, project, getCallerName(caller), {
              id: body.box_id ?? `box_${makeId()}`,
              writer: (await resolveActor(deps, caller, body.agent_id)).agent.id,
              turn: body.agent_turn_id,
              cards: body.cards,
            });
      return { status: isNew ? 201 : 200, body: toBoxView(box) };
    },
  }),
  defineRoute({
    operationId: 'getBox',
    method: 'GET',
    path: '/v1/boxes/{id}',
    summary: 'Get a box with the ids of its cards',
    responses: { 200: { description: 'The box', schema: BoxView }, ...notFound },
    handle: async ({ deps, caller, params }) => ({
      status: 200,
      body: toBoxView(await getBox(deps, caller.project, params.id ?? '')),
    }),
  }),
  defineRoute({
    operationId: 'listBoxCards',
    method: 'GET',
    path: '/v1/boxes/{id}/cards',
    summary: 'List the cards of a box with their content',
    query: z.strictObject({
      from: z
        .string()
        .refine((text) => /^\d{1,4}$/.test(text), 'must be a place in the box')
        .transform(Number)
        .default(0)
        .meta({
          type: 'integer',
          minimum: 0,
          maximum: 9999,
          description: 'the position of the first card, counted from 0',
        }),
      limit: boundedCount(MAX_CARDS_PER_READ, 20),
    }),
    responses: {
      200: {
        description: 'Cards in order, without expired ones. With `next` there are more',
        schema: z.object({ cards: z.array(CardView), next: z.number().optional() }),
      },
      ...notFound,
    },
    handle: async ({ deps, caller, params, query }) => {
      const box = await getBox(deps, caller.project, params.id ?? '');
      const { cards, next } = await listBoxCards(deps, box, query.from, query.limit);
      return { status: 200, body: { cards: await Promise.all(cards.map((card) => cardView(deps, card))), next } };
    },
  }),
  defineRoute({
    operationId: 'appendToBox',
    method: 'POST',
    path: '/v1/boxes/{id}/append',
    summary: 'Append cards to an output box. Cards that the box already has are skipped',
    body: z.strictObject({
      cards: boundedArray(CardId, { min: 1, max: MAX_CARDS_PER_READ }),
      turn_epoch: z.number().int().min(0).optional().describe('the epoch of the turn that the box belongs to'),
    }),
    responses: {
      200: { description: 'The box', schema: BoxView },
      409: { description: '`stale_turn`, `box_full` or `box_read_only`' },
      ...notFound,
    },
    handle: async ({ deps, caller, params, body }) => {
      const writer = caller.role === 'agent' ? caller.registered.agent.id : undefined;
      const append = { boxId: params.id ?? '', cards: body.cards, writer, epoch: body.turn_epoch };
      const box = await appendToBox(deps, caller.project, append);
      return { status: 200, body: toBoxView(box) };
    },
  }),
];
