import type { MessageResponse } from './parley-api.ts';

/**
 * What becomes of a message that Parley has answered:
 * `done`, or `told` where somebody else was first; `dead` where it can never be taken; `later` where it may be; `stop` where no message can
 * be brought at all until somebody has done something about the key.
 */
export type Disposition = 'done' | 'reject' | 'dead' | 'later' | 'stop';

/** A task may be on its way here by another stream. With growing pauses, so many deliveries take five minutes. */
const MAX_UNKNOWN_TASK_DELIVERIES = 12;

export const toDisposition = ({ status, body: { code } }: MessageResponse, deliveries: number): Disposition => {
  if (status >= 200 && status < 300) return 'done';
  if (status === 404 && code === 'task_not_found') return deliveries < MAX_UNKNOWN_TASK_DELIVERIES ? 'later' : 'dead';
  if (status === 409) return 'reject';
  return status === 429 || status >= 500 ? 'later' : 'dead';
};

/** The same for a call that was refused as a whole, where it brought one message only. */
export const toCallDisposition = (result: MessageResponse): Disposition => {
  const { status, body } = result;
  if (status === 401 || status === 403) return 'stop';
  // An address that knows no such call is not Parley's, or not yet.
  if (status === 404 || status === 405) return 'later';
  return body.code === undefined ? 'later' : toDisposition(result, 0);
};
