import { toIso } from '../ports/clock.ts';
import type { ParleyEvent } from '../ports/events.ts';

/** CloudEvents 1.0.2, in its JSON format. */
const MEDIA_TYPE = 'application/cloudevents+json';
const TYPE_PREFIX = 'dev.parley.';

export const CLOUD_EVENT_HEADERS = { 'content-type': MEDIA_TYPE };
export const CLOUD_EVENT_BATCH_TYPE = 'application/cloudevents-batch+json';

export const acceptsCloudEvents = (accept: string | undefined): boolean =>
  accept !== undefined && (accept.includes(MEDIA_TYPE) || accept.includes(CLOUD_EVENT_BATCH_TYPE));

/** The task, batch, graph or agent that an event is about. */
export const getSubjectId = ({ taskId, batchId, graphId, agent }: ParleyEvent['data']): string | undefined =>
  [taskId, batchId, graphId, agent].find((one) => typeof one === 'string');

/** `source` and `id` together identify an event. A repetition has the same. */
export const toCloudEvent = ({ id, project, type, at, data }: ParleyEvent): object => ({
  specversion: '1.0',
  id,
  source: `/projects/${project}`,
  type: TYPE_PREFIX + type,
  subject: getSubjectId(data),
  time: toIso(at),
  datacontenttype: 'application/json',
  // Of the extension for distributed tracing.
  traceparent: typeof data.traceparent === 'string' ? data.traceparent : undefined,
  data,
});
