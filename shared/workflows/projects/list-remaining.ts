import { agentsKey } from '../../identity/agents/agent.ts';
import type { Deps } from '../../identity/deps.ts';
import { TASK_STATUSES, TERMINAL_STATUSES } from '../../model/task.ts';
import { listTools } from '../../registration/register-tool.ts';
import { buildTaskQuery } from '../../tasks/queries/list-tasks.ts';
import { buildTurnQuery } from '../../turns/queries/list-turns.ts';
import { loadWebhooks } from '../../webhooks/list-webhooks.ts';
import { buildScheduleQuery } from '../schedules/manage-schedules.ts';

const OPEN_STATUSES = TASK_STATUSES.filter((status) => !TERMINAL_STATUSES.some((end) => end === status));

/** What keeps a project from its removal, by name. What has ended is none of it: it expires. */
export const listRemaining = async (deps: Deps, project: string): Promise<string[]> => {
  const caller = { project, role: 'admin' } as const;
  const { records } = deps;
  const first = { limit: 1 };
  const found = await Promise.all([
    records.query({ index: 'byList', pk: agentsKey(project), limit: 1 }),
    records.list(buildTaskQuery(caller, { status: OPEN_STATUSES }), first).then((page) => page.records),
    records.list(buildTurnQuery(caller, { status: ['queued', 'leased'] }), first).then((page) => page.records),
    records.list(buildScheduleQuery(caller, {}), first).then((page) => page.records),
    loadWebhooks(deps, project),
    listTools(deps, project, 1),
  ]);
  const names = ['agents', 'open tasks', 'open turns', 'schedules', 'webhooks', 'tools'];
  return names.filter((_, at) => (found[at]?.length ?? 0) > 0);
};
