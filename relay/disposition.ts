import type { MessageResponse } from './parley-api.ts';

/**
 * What becomes of a message that Parley has answered:
 * `ack`, or `reject` where another agent was first; `deadLetter` where it can never be accepted; `retry` where it may be;
 * `pause` where nothing can be sent until the key is accepted again.
 */
export type Disposition = 'ack' | 'reject' | 'deadLetter' | 'retry' | 'pause';

/** A task may be on its way here by another stream. With growing pauses, so many deliveries take five minutes. */
const MAX_UNKNOWN_TASK_DELIVERIES = 12;

export const toDisposition = ({ status, body: { code } }: MessageResponse, deliveries: number): Disposition => {
  if (status >= 200 && status < 300) return 'ack';
  if (status === 404 && code === 'task_not_found')
    return deliveries < MAX_UNKNOWN_TASK_DELIVERIES ? 'retry' : 'deadLetter';
  if (status === 409) return 'reject';
  return status === 429 || status >= 500 ? 'retry' : 'deadLetter';
};

/** The same for a call that was refused as a whole, where it brought one message only. */
export const toCallDisposition = (result: MessageResponse): Disposition => {
  const { status, body } = result;
  if (status === 401 || status === 403) return 'pause';
  // An address that knows no such call is not Parley's, or not yet.
  if (status === 404 || status === 405) return 'retry';
  return body.code === undefined ? 'retry' : toDisposition(result, 0);
};
