import type { MessageResponse } from './parley-api.ts';

/** `reject`: another agent was first. `pause`: the key is not accepted. */
export type Disposition = 'ack' | 'reject' | 'deadLetter' | 'retry' | 'pause';

/** The task may still arrive on another stream. With the backoff, 12 deliveries take five minutes. */
const MAX_UNKNOWN_TASK_DELIVERIES = 12;

export const toDisposition = ({ status, body: { code } }: MessageResponse, deliveries: number): Disposition => {
  if (status >= 200 && status < 300) return 'ack';
  if (status === 404 && code === 'task_not_found')
    return deliveries < MAX_UNKNOWN_TASK_DELIVERIES ? 'retry' : 'deadLetter';
  if (status === 409) return 'reject';
  return status === 429 || status >= 500 ? 'retry' : 'deadLetter';
};

export const toCallDisposition = (result: MessageResponse): Disposition => {
  const { status, body } = result;
  if (status === 401 || status === 403) return 'pause';
  // An address without this route is not Parley, or not yet.
  if (status === 404 || status === 405) return 'retry';
  return body.code === undefined ? 'retry' : toDisposition(result, 0);
};
