import type { Deps } from '../../identity/deps.ts';
import type { TaskRequestCommand } from '../../model/command.ts';
import { assertInputSize } from '../../tasks/commands/create-task.ts';
import { resolveDestination } from '../../tasks/commands/resolve-destination.ts';

/** Whether a task could be created now. */
export const assertDestination = async (deps: Deps, project: string, command: TaskRequestCommand): Promise<void> => {
  assertInputSize(deps, command);
  const destination = await resolveDestination(deps, project, command);
  if (destination instanceof Error) throw destination;
};
