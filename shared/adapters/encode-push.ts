import type { Deps } from '../identity/deps.ts';
import type { PushConfig, WebhookMessage } from '../model/webhook.ts';
import type { ParleyEvent } from '../ports/events.ts';
import { PROTOCOL_VERSION } from './a2a/agent-card.ts';
import { encodeTaskEvent } from './a2a/stream-response.ts';

/** An event of a task as its requester's dialect pushes it: only A2A does. */
export const encodePush = async (deps: Deps, config: PushConfig, event: ParleyEvent): Promise<WebhookMessage[]> => {
  const { project, taskId, contextId } = config;
  const responses = await encodeTaskEvent(deps, { project, id: taskId, contextId }, event);
  return responses.map((response, index) => ({
    id: `${event.id}:${index}`,
    body: JSON.stringify(response),
    headers: buildHeaders(config),
  }));
};

const buildHeaders = ({ authentication, notificationToken }: PushConfig): Record<string, string> => ({
  'content-type': 'application/a2a+json',
  'a2a-version': PROTOCOL_VERSION,
  ...(authentication && { authorization: `${authentication.scheme} ${authentication.credentials ?? ''}`.trim() }),
  ...(notificationToken !== undefined && { 'x-a2a-notification-token': notificationToken }),
});
