import * as z from 'zod';
import { NatsMessage } from './nats-message.ts';

/** What becomes of something that the relay asks about: a message, or why there is none. */
export const RenderedItem = z.union([z.object({ publish: NatsMessage }), z.object({ skip: z.string() })]);
export type RenderedItem = z.output<typeof RenderedItem>;

/** The same, or what keeps it from being told now, or that it did not fit into the answer. */
export const RenderResult = z
  .union([RenderedItem, z.object({ problem: z.string() }), z.object({ deferred: z.literal(true) })])
  .meta({ id: 'RenderResult' });
export type RenderResult = z.output<typeof RenderResult>;
