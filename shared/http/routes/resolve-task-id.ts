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
  const id = await resolveShortId(deps, caller, toCanonicalId(params.id ?? ''));
  request.addLogFields?.({ taskId: id });
  return id;
};
