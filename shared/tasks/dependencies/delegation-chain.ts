import { ParleyError } from '../../kernel/errors.ts';

export const delegationCycleError = (agent: string, delegationChain: string[]): ParleyError =>
  new ParleyError('delegation_cycle', `${agent} has had this work in hand already: ${delegationChain.join(' → ')}.`, {
    details: { delegationChain },
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
