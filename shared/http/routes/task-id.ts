import { canonicalId } from '../../ids.ts';
import type { Call } from '../route.ts';

export const taskId = ({ params, request }: Pick<Call, 'params' | 'request'>): string => {
  const id = canonicalId(params.id ?? '');
  request.note?.({ taskId: id });
  return id;
};
