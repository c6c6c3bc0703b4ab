import { ParleyError } from '../../kernel/errors.ts';
import type { Task } from '../model/task.ts';

/** Who had the work in hand before the one who is given it, the requester last. */
export const getDelegationChain = ({ chain, from }: Pick<Task, 'chain' | 'from'>): string[] => chain ?? [from];

export const delegationCycleError = (agent: string, chain: string[]): ParleyError =>
  new ParleyError('delegation_cycle', `${agent} has had this work in hand already: ${chain.join(' → ')}.`, {
    details: { delegationChain: chain },
  });

export const taskDeclinedError = (agent: string, taskId: string): ParleyError =>
  new ParleyError(
    'not_eligible',
    `${agent} has said that it cannot do the task ${taskId}, which now waits for others.`,
  );

export const selfDelegationError = (agent: string): ParleyError =>
  new ParleyError('delegation_cycle', `${agent} cannot delegate to itself. Name another agent, or do the work.`, {
    details: { delegationChain: [agent] },
  });
