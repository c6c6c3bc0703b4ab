import type { Blobs } from './blobs.ts';
import type { Events } from './events.ts';
import type { Queues } from './queues.ts';
import type { Records } from './records.ts';

export interface Ports {
  records: Records;
  queues: Queues;
  events: Events;
  blobs: Blobs;
}
