import { EventBridgeClient, PutEventsCommand, type PutEventsRequestEntry } from '@aws-sdk/client-eventbridge';
import type { Clock } from '../../ports/clock.ts';
import type { ParleyEvent } from '../../ports/events.ts';
import { CLIENT_DEFAULTS, type ClientOptions } from './aws-clients.ts';
import { mapAwsErrors } from './aws-errors.ts';
import { splitIntoChunks, waitBeforeRetry } from './backoff.ts';
import type { PublishExternally } from './dynamo-events.ts';

/** EventBridge takes ten entries and 256 KB per request. */
const MAX_ENTRIES = 10;
const MAX_REQUEST_BYTES = 240 * 1024;

export const createBusPublisher = (bus: string, clock: Clock, options: ClientOptions = {}): PublishExternally => {
  const eventBridge = new EventBridgeClient({ ...CLIENT_DEFAULTS, ...options });
  return async (events) => {
    const entries = events.map((event) => toBusEntry(bus, event));
    await Promise.all(
      splitIntoChunks(entries, MAX_ENTRIES, MAX_REQUEST_BYTES, getEntryBytes).map(async (chunk) => {
        let left = chunk;
        for (let attempt = 0; left.length > 0; attempt++) {
          if (attempt > 0) await waitBeforeRetry(clock, attempt, 'EventBridge');
          left = await putEvents(eventBridge, left);
        }
      }),
    );
  };
};

const getEntryBytes = ({ Detail: detail = '' }: PutEventsRequestEntry): number => Buffer.byteLength(detail);

const putEvents = async (eventBridge: EventBridgeClient, entries: PutEventsRequestEntry[]) => {
  const { Entries: outcomes = [] } = await mapAwsErrors(eventBridge.send(new PutEventsCommand({ Entries: entries })));
  return entries.filter((_, index) => outcomes[index]?.ErrorCode !== undefined);
};

const toBusEntry = (bus: string, event: ParleyEvent): PutEventsRequestEntry => ({
  EventBusName: bus,
  Source: 'parley',
  DetailType: event.type,
  Time: new Date(event.at),
  Detail: JSON.stringify({ id: event.id, project: event.project, at: event.at, ...event.data }),
});
