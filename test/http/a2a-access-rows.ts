import { randomUUID } from 'node:crypto';
import type { AccessRow } from './access-rows.ts';

const VERSION = '?A2A-Version=1.0';

const message = () => ({
  message: {
    messageId: randomUUID(),
    role: 'ROLE_USER',
    parts: [{ text: 'x' }],
    metadata: { parley: { from: 'requester', to: 'holder', capability: 'security.briefing' } },
  },
  configuration: { returnImmediately: true },
});

const rowsBelow = (path: string, place: string): Record<string, AccessRow> => {
  const at = (rest: string): string => `${place}${rest}${VERSION}`;
  const noTask = { stranger: '404 TASK_NOT_FOUND' };
  // The tenant is an agent, which the other project lacks.
  const foreign = place.includes('/holder') ? '404 AGENT_NOT_FOUND' : undefined;
  const row = (more: AccessRow): AccessRow => ({ ...more, ...(foreign && { foreign }) });
  const configs = '/tasks/{id}/pushNotificationConfigs';
  const sent = { stranger: '403 FROM_MISMATCH', foreign: '422 UNKNOWN_AGENT' };
  // That task was not asked for over A2A.
  const noPush = { status: 400, stranger: '404 TASK_NOT_FOUND' };
  return {
    [`GET ${path}/tasks`]: row({ at: at('/tasks'), stranger: '200' }),
    [`GET ${path}/extendedAgentCard`]: row({ at: at('/extendedAgentCard'), stranger: '200' }),
    [`GET ${path}/tasks/{id}`]: row({ at: at('/tasks/:held'), ...noTask }),
    [`GET ${path}${configs}`]: row({ at: at('/tasks/:held/pushNotificationConfigs'), ...noPush }),
    [`GET ${path}${configs}/{config}`]: row({ at: at('/tasks/:held/pushNotificationConfigs/x'), ...noPush }),
    [`POST ${path}${configs}`]: row({ at: at('/tasks/:held/pushNotificationConfigs'), body: () => ({}), ...noPush }),
    [`DELETE ${path}${configs}/{config}`]: row({ at: at('/tasks/:held/pushNotificationConfigs/x'), ...noPush }),
    [`POST ${path}/message:send`]: row({ at: at('/message:send'), body: message, ...sent }),
    [`POST ${path}/message:stream`]: row({ at: at('/message:stream'), body: message, ...sent }),
    [`POST ${path}/tasks/{id}`]: row({ at: at('/tasks/:open%3Asubscribe'), scope: 'read', ...noTask }),
  };
};

const call = ({ held }: { held: string }) => ({ jsonrpc: '2.0', id: 1, method: 'GetTask', params: { id: held } });

/** The errors of JSON-RPC stand in answers with the status 200. */
export const A2A_ACCESS: Record<string, AccessRow> = {
  'POST /a2a': { at: `/a2a${VERSION}`, body: call, scope: 'read', stranger: '200' },
  'POST /a2a/{agent}': { at: `/a2a/holder${VERSION}`, body: call, scope: 'read', stranger: '200' },
  ...rowsBelow('/a2a/{agent}', '/a2a/@gateway'),
  ...rowsBelow('/a2a/{agent}/{tenant}', '/a2a/@gateway/holder'),
};
