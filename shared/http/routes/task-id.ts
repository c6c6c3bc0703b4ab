import type { Caller } from '../../agents/authenticate.ts';
import type { Deps } from '../../deps.ts';
import { canonicalId } from '../../ids.ts';
import { unshortened } from '../../tasks/short-names.ts';
import type { Call } from '../route.ts';

export const taskId = async (
  deps: Deps,
  caller: Caller,
  { params, request }: Pick<Call, 'params' | 'request'>,
): Promise<string> => {
  const id = await unshortened(deps, caller, canonicalId(params.id ?? ''));
  request.note?.({ taskId: id });
  return id;
};
