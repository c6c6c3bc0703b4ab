import type { Caller } from '../../agents/authenticate.ts';
import type { Deps } from '../../deps.ts';
import { toCanonicalId } from '../../ids.ts';
import { resolveShortId } from '../../tasks/short-ids.ts';
import type { RouteCall } from '../route.ts';

export const resolveTaskId = async (
  deps: Deps,
  caller: Caller,
  { params, request }: Pick<RouteCall, 'params' | 'request'>,
): Promise<string> => {
  const id = await resolveShortId(deps, caller, toCanonicalId(params.id ?? ''));
  request.note?.({ taskId: id });
  return id;
};
