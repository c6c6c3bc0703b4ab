import * as z from 'zod';
import { type Caller, resolveActor } from '../../identity/auth/authenticate.ts';
import type { Deps } from '../../identity/deps.ts';
import { ParleyError } from '../../kernel/errors.ts';
import { expandShortId, SHORT_ID, toCanonicalId, toShortId } from '../../kernel/ids.ts';
import { type DirectMessage, directMessageRef, isDirectMessage } from '../../model/direct-message.ts';
import { type Task, unacknowledgedListKey } from '../../model/task.ts';
import { toIso } from '../../ports/clock.ts';
import { loadContent } from '../../storage/content.ts';
import { boundedCount, defineRoute, type Route, timeOrderedCursor } from '../route.ts';
import { onBehalfOf } from './common-fields.ts';

const SENT_MESSAGE_STATES = ['waiting', 'read', 'evicted', 'expired', 'unclaimed'] as const;
const time = z.iso.datetime();

const SentMessage = z
  .object({
    id: z.string(),
    shortId: z.string().describe('the short id, for protocols with short ids'),
    from: z.string(),
    to: z.string().optional(),
    type: z.string(),
    sentAt: time,
    state: z.enum(SENT_MESSAGE_STATES).describe('`unclaimed`: a task that nobody has claimed'),
    readAt: time.optional(),
    acknowledgeBy: time.optional(),
    overdue: z.boolean(),
    taskId: z.string().optional(),
  })
  .meta({ id: 'SentMessage' });

const getMessageState = (directMessage: DirectMessage): (typeof SENT_MESSAGE_STATES)[number] => {
  if (directMessage.evictedAt !== undefined) return 'evicted';
  if (directMessage.readAt !== undefined) return 'read';
  return directMessage.byList ? 'waiting' : 'expired';
};

const toSentMessageView = (sent: DirectMessage | Task): z.output<typeof SentMessage> => {
  const { id, from, to, createdAt, acknowledgeBy, unacknowledgedAt } = sent;
  const about = isDirectMessage(sent)
    ? { type: sent.type, state: getMessageState(sent), readAt: toIso(sent.readAt) }
    : { type: sent.capability, state: 'unclaimed' as const, taskId: id };
  const times = { sentAt: toIso(createdAt), acknowledgeBy: toIso(acknowledgeBy) };
  return { id, shortId: toShortId(id), from, to, ...about, ...times, overdue: unacknowledgedAt !== undefined };
};

/** What became of messages once they were sent. */
export const sentMessageRoutes: Route[] = [
  defineRoute({
    operationId: 'listUnacknowledgedMessages',
    method: 'GET',
    path: '/v1/messages/unacknowledged',
    summary: 'List messages with `requires_ack` that nobody has acknowledged or claimed, oldest first',
    query: z.strictObject({ limit: boundedCount(100, 20), cursor: timeOrderedCursor.optional(), agent: onBehalfOf }),
    responses: {
      200: {
        description: 'A page. With a `cursor` there may be more',
        schema: z.object({ messages: z.array(SentMessage), cursor: z.string().optional() }),
      },
    },
    handle: async ({ deps, caller, query: { limit, cursor, agent: named } }) => {
      const { agent } = await resolveActor(deps, caller, named);
      const p = unacknowledgedListKey(agent.project, agent.id);
      const found = await deps.records.query<DirectMessage | Task>({ index: 'byHolder', pk: p, after: cursor, limit });
      const next = found.length === limit ? found.at(-1)?.byHolder?.sk : undefined;
      return { status: 200, body: { messages: found.map(toSentMessageView), cursor: next } };
    },
  }),
  defineRoute({
    operationId: 'getMessage',
    method: 'GET',
    path: '/v1/messages/{from}/{id}',
    summary: 'Get a direct message with its content and state',
    query: z.strictObject({
      timestamp: z.iso
        .datetime({ offset: true })
        .optional()
        .describe('the time of the message, required for a short id'),
    }),
    responses: {
      200: { description: 'The message', schema: SentMessage.extend({ content: z.unknown() }) },
      404: { description: 'No such message' },
    },
    handle: async ({ deps, caller, params: { from = '', id = '' }, query: { timestamp } }) => {
      const directMessage = await getReadableMessage(deps, caller, from, expandMessageId(from, id, timestamp));
      return {
        status: 200,
        body: {
          ...toSentMessageView(directMessage),
          content: await loadContent(deps.blobs, directMessage.project, directMessage.content),
        },
      };
    },
  }),
];

const expandMessageId = (from: string, id: string, timestamp: string | undefined): string => {
  if (!SHORT_ID.test(id)) return toCanonicalId(id);
  if (timestamp !== undefined) return expandShortId(from, id, Date.parse(timestamp));
  throw new ParleyError(
    'invalid_request',
    `${from} may have sent several messages as ${id}. Say which with ?timestamp=, as the message has it, or ask by the messageId that sending it was answered with.`,
    { issues: [{ path: 'timestamp', message: 'is missing beside a short id' }] },
  );
};

const getReadableMessage = async (deps: Deps, caller: Caller, from: string, id: string): Promise<DirectMessage> => {
  const directMessage = await deps.records.get(directMessageRef(caller.project, from, id));
  const isTheirs =
    directMessage &&
    (caller.role === 'admin' || [directMessage.from, directMessage.to].includes(caller.registered.agent.id));
  if (isTheirs) return directMessage;
  throw new ParleyError('not_found', `There is no message ${id} of ${from}.`);
};
