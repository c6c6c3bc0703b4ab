import { healthRef } from '../identity/agents/agent.ts';
import {
  assertCoordinator,
  buildControlChange,
  type ControlCommand,
  checkControlApplied,
} from '../identity/agents/agent-control.ts';
import { type Caller, describeCaller, findAgent } from '../identity/auth/authenticate.ts';
import type { Deps } from '../identity/deps.ts';
import { ParleyError } from '../kernel/errors.ts';
import { equals, notExists, or } from '../ports/conditions.ts';

type StateCommand = ControlCommand & { action: 'pause' | 'drain' | 'resume' };

/**
 * By a call instead of a message. Operators and coordinators control any agent. An agent pauses itself, and neither ends nor
 * replaces the pauses of others.
 */
export const controlAgent = async (deps: Deps, caller: Caller, id: string, command: StateCommand): Promise<void> => {
  const registered = await findAgent(deps, caller.project, id);
  if (!registered) throw new ParleyError('agent_not_found', `No agent ${id} is registered.`);
  const isOwn = caller.role === 'agent' && caller.registered.agent.id === id;
  if (!isOwn) assertCoordinator(caller, `${command.action} another agent`);
  // An operator ends a stop, too.
  const action = caller.role === 'admin' && command.action === 'resume' ? 'start' : command.action;
  const change = buildControlChange({ ...command, action }, describeCaller(caller), deps.clock.now());
  const applied = isOwn ? { ...change, if: or(notExists('pause'), equals('pause.by', id)) } : change;
  const written = await deps.records.update(healthRef(caller.project, id), applied, deps.newId());
  deps.directory.invalidate(caller.project, id);
  if (written.outcome === 'written') return;
  const { pause } = written.existing ?? {};
  throw (isOwn && pause && pausedByOthersError(id, pause.by)) || checkControlApplied(command, id);
};

const pausedByOthersError = (id: string, by: string): ParleyError =>
  new ParleyError('forbidden', `${by} has paused ${id}, and only operators and coordinators change that.`);
