import type { RegisteredAgent } from '../identity/agents/agent.ts';
import { type Caller, type RelayCaller, resolveActor } from '../identity/auth/authenticate.ts';
import type { Deps } from '../identity/deps.ts';
import type { SignedContent } from '../model/command.ts';
import { consumeRateLimit } from './rate-limit.ts';
import { verifySignature } from './verify-signature.ts';

/** What an agent wants to bring in, by whichever way. */
export interface AuthorizationRequest {
  caller: Caller | RelayCaller;
  /** Who is said to send it; absent where that is whose key it is. */
  from?: string;
  /** As how many messages it counts. */
  messageCount: number;
  /** What its sender signed, if it did; `never` for what is only streamed and has no place for a signature. */
  signature: SignedContent | 'never' | undefined;
}

/**
 * The one gate for all that agents bring in, whichever way it comes: whose it is, whether that one signed it, and whether it may still send
 * as much. Nothing has been written when it is refused. How large content may be is checked where content is taken, which all ways share.
 */
export const authorizeSender = (
  deps: Deps,
  ingress: AuthorizationRequest,
): RegisteredAgent | Promise<RegisteredAgent> => {
  const sender = resolveActor(deps, ingress.caller, ingress.from);
  return sender instanceof Promise
    ? sender.then((known) => verifyAndCount(deps, known, ingress))
    : verifyAndCount(deps, sender, ingress);
};

const verifyAndCount = (
  deps: Deps,
  sender: RegisteredAgent,
  { messageCount, signature }: AuthorizationRequest,
): RegisteredAgent | Promise<RegisteredAgent> => {
  if (signature !== 'never') verifySignature(deps, sender.agent, signature);
  const counted = consumeRateLimit(deps, sender.agent, messageCount);
  return counted ? counted.then(() => sender) : sender;
};
