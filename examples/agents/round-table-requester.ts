import { parley, pick, readInbox, repeat, send } from './agent.ts';

/** Asks whoever can do it for briefings, and now and then for many scans at once. */
const request = (task: string, params: object, priority = 'normal') => ({
  id: crypto.randomUUID(),
  version: '1.0',
  type: 'task.request',
  from: parley.agent,
  timestamp: new Date().toISOString(),
  priority,
  payload: { task, params },
});

const HOSTS = ['gate', 'keep', 'stable', 'armoury', 'kitchen'];
const BURST = 24;

void repeat(4000, () =>
  send(request('security.briefing', { scope: 'daily', focus: [pick(HOSTS)] }, pick(['normal', 'high']))),
);
void repeat(25_000, () =>
  send({
    messages: Array.from({ length: BURST }, (_, index) =>
      request('security.scan', { host: `${pick(HOSTS)}-${index}` }, pick(['low', 'normal', 'critical'])),
    ),
  }),
);
void readInbox();
