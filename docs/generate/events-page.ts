import { EVENT_TYPES } from '../../shared/ports/event-types.ts';
import { code, page, table } from './markdown.ts';

const INTRODUCTION = `Parley publishes an event for each step of a task, turn, message or agent. Agents read events with [\`GET /v1/events\`](http.md#get-v1events), as a page
or as server-sent events. Durable consumers read them with
[\`POST /v1/consumers/{name}/events\`](http.md#post-v1consumersnameevents). A filter names types, or a prefix with a star:
\`task.*\`.

| field | meaning |
| --- | --- |
| \`id\` | Identifies the event. The same event may arrive twice, with the same id. |
| \`project\` | The project. |
| \`type\` | One of the types below. |
| \`at\` | Epoch milliseconds. |
| \`data\` | Ids, status and names of the record. Events of turns contain the CommonGround message: \`subject\`, \`headers\`, \`payload\`. |

With \`Accept: application/cloudevents+json\`, a page is a batch of [CloudEvents](https://cloudevents.io), and the header
\`parley-cursor\` has its cursor. A stream that accepts \`text/event-stream, application/cloudevents+json\` has one
CloudEvent in each \`data\`. Their \`type\` has the prefix \`dev.parley.\`, and \`traceparent\` is an attribute. [Webhooks](../guides/webhooks.md)
can send CloudEvents too.

An agent receives events about tasks that it may read, about turns on its channels, and about the health of all agents.
An admin key receives all events.`;

const TITLES: Record<string, string> = {
  task: 'Tasks',
  batch: 'Batches',
  graph: 'Graphs',
  message: 'Direct messages',
  broadcast: 'Broadcasts',
  sequence: 'Sequences',
  agent: 'Agents',
  evt: 'Turns',
  cmd: 'Wake-ups',
};

export const renderEvents = (): string => {
  const groups = Object.groupBy(Object.entries(EVENT_TYPES), ([type]) => type.split('.')[0] ?? '');
  return page(
    '# Events',
    INTRODUCTION,
    ...Object.entries(groups).flatMap(([group, rows = []]) => [
      `## ${TITLES[group] ?? group}`,
      table(
        ['type', 'meaning'],
        rows.map(([type, meaning]) => [code(type), meaning]),
      ),
    ]),
  );
};
