import { parley, pick, readInbox, repeat, send, sleep } from './agent.ts';

/** Delegates work, and answers what its agents are blocked by, if no person was faster. */
const PATIENCE_MS = 25_000;
const TASKS = ['Make the router faster', 'Add a test for the moat', 'Rename the drawbridge'];
let sequence = 0;

void repeat(14_000, () =>
  send({
    version: '1.0.0',
    msg_id: `msg_${crypto.randomUUID().slice(0, 8)}`,
    from: parley.agent,
    to: 'coder',
    timestamp: new Date().toISOString(),
    sequence: ++sequence,
    type: 'task-delegation',
    priority: pick([3, 5, 8]),
    payload: {
      task: pick(TASKS),
      context: { files: ['/src/router.ts'], dependencies: [] },
      metadata: { original_requester: parley.agent, delegation_reason: 'Knows the code' },
    },
  }),
);

void readInbox(async ({ type, correlation_id: id, payload }) => {
  if (type !== 'status-update' || payload.status !== 'blocked') return;
  await sleep(PATIENCE_MS);
  await parley.call('POST', `/v1/tasks/${id}/input`, { input: 'Use the spare host.' });
});
