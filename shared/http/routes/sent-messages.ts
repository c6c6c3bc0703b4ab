import * as z from 'zod';
import { agentBehind, type Caller } from '../../agents/authenticate.ts';
import type { Deps } from '../../deps.ts';
import { ParleyError } from '../../errors.ts';
import { canonicalId, idOfShort, SHORT_ID, shortId } from '../../ids.ts';
import { iso } from '../../json/iso.ts';
import { isNote, type Note, noteRef } from '../../notes/note.ts';
import { loaded } from '../../tasks/content.ts';
import { type Task, unacknowledgedOf } from '../../tasks/task.ts';
import { countUpTo, noBody, placeCursor, type Route, route } from '../route.ts';
import { speaksFor } from './agent-fields.ts';

const STATES = ['waiting', 'read', 'evicted', 'expired', 'unclaimed'] as const;
const time = z.iso.datetime();

const SentMessage = z.object({
  id: z.string(),
  shortId: z.string().describe('as it is called in protocols that have room for no more'),
  from: z.string(),
  to: z.string().optional(),
  type: z.string(),
  sentAt: time,
  state: z.enum(STATES).describe('unclaimed: it is a task, and nobody has claimed it'),
  readAt: time.optional(),
  acknowledgeBy: time.optional(),
  overdue: z.boolean(),
  taskId: z.string().optional(),
});

const stateOf = (note: Note): (typeof STATES)[number] => {
  if (note.evictedAt !== undefined) return 'evicted';
  if (note.readAt !== undefined) return 'read';
  return note.placed ? 'waiting' : 'expired';
};

const viewOf = (sent: Note | Task): z.output<typeof SentMessage> => {
  const { id, from, to, createdAt, acknowledgeBy, unacknowledgedAt } = sent;
  const about = isNote(sent)
    ? { type: sent.type, state: stateOf(sent), readAt: iso(sent.readAt) }
    : { type: sent.capability, state: 'unclaimed' as const, taskId: id };
  const times = { sentAt: iso(createdAt), acknowledgeBy: iso(acknowledgeBy) };
  return { id, shortId: shortId(id), from, to, ...about, ...times, overdue: unacknowledgedAt !== undefined };
};

/** What became of messages once they were sent. */
export const sentMessageRoutes: Route[] = [
  route({
    method: 'GET',
    path: '/v1/messages/unacknowledged',
    summary:
      'What the caller sent with requires_ack and nobody has acknowledged, or claimed if it is a task, oldest first',
    query: z.strictObject({ limit: countUpTo(100, 20), cursor: placeCursor.optional(), agent: speaksFor }),
    body: noBody,
    answers: {
      200: {
        description: 'A page; with a cursor, there may be more',
        schema: z.object({ messages: z.array(SentMessage), cursor: z.string().optional() }),
      },
    },
    handle: async ({ deps, caller, query: { limit, cursor, agent: named } }) => {
      const { agent } = await agentBehind(deps, caller, named);
      const p = unacknowledgedOf(agent.project, agent.id);
      const found = await deps.records.query<Note | Task>({ index: 'held', p, after: cursor, limit });
      const next = found.length === limit ? found.at(-1)?.held?.s : undefined;
      return { status: 200, body: { messages: found.map(viewOf), cursor: next } };
    },
  }),
  route({
    method: 'GET',
    path: '/v1/messages/{from}/{id}',
    summary: 'One message that is no task, whole, and whether it was read',
    query: z.strictObject({
      timestamp: z.iso.datetime({ offset: true }).optional().describe('of the message, where its id is short'),
    }),
    body: noBody,
    answers: {
      200: { description: 'The message', schema: SentMessage.extend({ content: z.unknown() }) },
      404: { description: 'No such message' },
    },
    handle: async ({ deps, caller, params: { from = '', id = '' }, query: { timestamp } }) => {
      const note = await noteFor(deps, caller, from, wholeId(from, id, timestamp));
      return { status: 200, body: { ...viewOf(note), content: await loaded(deps.blobs, note.project, note.content) } };
    },
  }),
];

const wholeId = (from: string, id: string, timestamp: string | undefined): string => {
  if (!SHORT_ID.test(id)) return canonicalId(id);
  if (timestamp !== undefined) return idOfShort(from, id, Date.parse(timestamp));
  throw new ParleyError(
    'invalid_request',
    `${from} may have sent several messages as ${id}. Say which with ?timestamp=, as the message has it, or ask by the messageId that sending it was answered with.`,
    { issues: [{ path: 'timestamp', message: 'is missing beside a short id' }] },
  );
};

const noteFor = async (deps: Deps, caller: Caller, from: string, id: string): Promise<Note> => {
  const note = await deps.records.get(noteRef(caller.project, from, id));
  const isTheirs = note && (caller.role === 'admin' || [note.from, note.to].includes(caller.known.agent.id));
  if (isTheirs) return note;
  throw new ParleyError('not_found', `There is no message ${id} of ${from}.`);
};
