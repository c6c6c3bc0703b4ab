import type { Item, NewItem, Ref } from '../ports/records.ts';

/** Gives its work to an agent that is called, and does not call itself. */
export interface AgentCaller extends Item {
  sk: 'agent-caller';
  project: string;
  agent: string;
}

/** A task that Parley has given to such an agent, as that one has it. */
export interface AgentCall extends Item {
  sk: 'agent-call';
  project: string;
  agent: string;
  taskId: string;
  attempt: number;
  startedAt: number;
  /** Its message may have arrived. */
  isSent?: boolean;
  remoteId?: string;
  /** Answers that it was sent. */
  answers: number;
  /** What it said last, as a fingerprint. */
  said?: string;
  /** Calls in a row that were not answered. */
  failures: number;
}

/** With which Parley calls the agent. Never shown. */
export interface AgentCallSecret extends Item {
  sk: 'agent-call-secret';
  authorization: string;
}

export const agentCallerRef = (project: string, agent: string): Ref<AgentCaller> => ({
  pk: `${project}#agent-caller#${agent}`,
  sk: 'agent-caller',
});
export const agentCallersKey = (project: string): string => `${project}#agent-callers`;

export const agentCallRef = (project: string, taskId: string): Ref<AgentCall> => ({
  pk: `${project}#agent-call#${taskId}`,
  sk: 'agent-call',
});

export const agentCallSecretRef = (project: string, agent: string): Ref<AgentCallSecret> => ({
  pk: `${project}#agent-call-secret#${agent}`,
  sk: 'agent-call-secret',
});

export const buildAgentCaller = (project: string, agent: string, due: number): NewItem<AgentCaller> => ({
  pk: agentCallerRef(project, agent).pk,
  sk: 'agent-caller',
  project,
  agent,
  due,
  byList: { pk: agentCallersKey(project), sk: agent },
});
