import type { Deps } from '../../identity/deps.ts';
import { SYSTEM_SENDER } from '../../kernel/system-sender.ts';
import type { BatchItem } from '../../model/batch.ts';
import { taskRef } from '../../model/task.ts';
import { buildCancelTransition } from '../../tasks/transitions/end-and-requeue.ts';
import { toConditionalUpdate } from '../../tasks/transitions/rules.ts';
import { forceStop } from '../../turns/lifecycle/stop-turn.ts';

type StopItem = (deps: Deps, project: string, id: string) => Promise<void>;

const STOP_BY_KIND: Readonly<Record<BatchItem['kind'], StopItem>> = {
  task: async (deps, project, id) => {
    const stopped = buildCancelTransition(SYSTEM_SENDER, { now: deps.clock.now(), limits: deps.config.tasks });
    await deps.records.update(taskRef(project, id), toConditionalUpdate(stopped), deps.newId());
  },
  turn: (deps, project, id) => forceStop(deps, project, id, 'The batch that it was a part of has ended.'),
};

/** Ends a part of a batch, unless it has ended. */
export const stopBatchItem = (deps: Deps, project: string, { kind, id }: BatchItem): Promise<void> =>
  STOP_BY_KIND[kind](deps, project, id);
