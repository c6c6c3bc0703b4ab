import { decode } from '../dialects/common-ground/decode.ts';
import { parseProjectSubject } from '../dialects/common-ground/subject.ts';
import { getDialect } from '../dialects/registry.ts';
import type { Deps } from '../identity/deps.ts';
import type { PendingRequest, Submitter } from '../model/pending-request.ts';
import { toBatchItemTurnId } from '../model/turn.ts';
import { type EnqueueRequest, protocolViolationError } from '../turns/lifecycle/enqueue.ts';
import { toEnqueueRequest } from './common-ground/to-turn-command.ts';

/** The turn that a message asks for together with others; undefined where that was a task. */
export const parseBatchTurn = (
  { config }: Deps,
  { project, from, trace }: Submitter,
  { dialect, message, batchMembership }: PendingRequest,
): (EnqueueRequest & { id: string }) | undefined => {
  if (!batchMembership || !getDialect(dialect).usesTurns) return undefined;
  const { command } = decode(message, config, from);
  parseProjectSubject(command.subjectText, project);
  if (command.do === 'enqueue')
    return { ...toEnqueueRequest(command, trace), id: toBatchItemTurnId(batchMembership), from, batchMembership };
  throw protocolViolationError('subject', 'A batch takes the calls of agents: cmd.agent.{agent}.turn.');
};
