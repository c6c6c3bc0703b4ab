import { getAgentDialect } from '../../dialects/registry.ts';
import type { Caller } from '../../identity/auth/authenticate.ts';
import type { Deps } from '../../identity/deps.ts';
import { toCanonicalId } from '../../kernel/ids.ts';
import { resolveShortId } from '../../tasks/ids/short-ids.ts';
import type { RouteCall } from '../route.ts';

export const resolveTaskId = async (
  deps: Deps,
  caller: Caller,
  { params, request }: Pick<RouteCall, 'params' | 'request'>,
): Promise<string> => {
  const given = toCanonicalId(params.id ?? '');
  const short = caller.role === 'agent' ? getAgentDialect(caller.registered.agent).toShortId?.(given) : undefined;
  const found = await resolveShortId(deps, caller, short ?? given);
  const id = found === short ? given : found;
  request.addLogFields?.({ taskId: id });
  return id;
};
