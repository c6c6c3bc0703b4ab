import type { TaskStatus } from './task.ts';

/** All that is given must hold. */
export interface TaskFilter {
  /** The capability. */
  type?: string | undefined;
  /** One of them. */
  status?: readonly TaskStatus[] | undefined;
  error?: string | undefined;
  requester?: string | undefined;
  holder?: string | undefined;
  /** The requester, the addressee or the holder. */
  agent?: string | undefined;
  domain?: string | undefined;
  conversation?: string | undefined;
  /** Created at or after, and before. */
  since?: number | undefined;
  until?: number | undefined;
  /** Waits for its delay after a failed attempt. */
  retrying?: true | undefined;
  /** Waits for the time of its start. */
  delayed?: true | undefined;
  /** Waits for input. */
  waits?: true | undefined;
  idPrefix?: string | undefined;
}
