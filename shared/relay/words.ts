import * as z from 'zod';
import { NatsMessage } from './nats-message.ts';

/** What becomes of something that the relay asks about: a message, or why there is none. */
export const Worded = z.union([z.object({ publish: NatsMessage }), z.object({ skip: z.string() })]);
export type Worded = z.output<typeof Worded>;

/** The same, or what keeps it from being told now, or that it did not fit into the answer. */
export const Words = z.union([Worded, z.object({ problem: z.string() }), z.object({ later: z.literal(true) })]);
export type Words = z.output<typeof Words>;
