import { randomUUID } from 'node:crypto';
import { toJsonSchema } from '../shared/http/openapi-schemas.ts';
import type { Route } from '../shared/http/route.ts';

/** Each shape is JSON with maximal cost per byte. */
export const SHAPES: Readonly<Record<string, (bytes: number) => string>> = {
  ones: (bytes) => repeated('[', '1,', '1]', bytes),
  'ones in 1 MB': (bytes) => repeated('[', '1,', '1]', Math.min(bytes, 1_000_000)),
  'empty lists': (bytes) => repeated('[', '[],', '1]', Math.min(bytes, 750_000)),
  'small objects': (bytes) => repeated('[', '{"a":1},', '1]', Math.min(bytes, 2_000_000)),
  'texts that are escaped': (bytes) => repeated('["', '\\u00e9', '"]', bytes),
  quotes: (bytes) => repeated('["', '\\"', '"]', bytes),
  'one text': (bytes) => repeated('["', 'x', '"]', bytes),
  fields: (bytes) => repeated('[', `${object(Math.min(9000, bytes >> 4))},`, '1]', bytes),
  levels: (bytes) => repeated('[', `${'['.repeat(50)}${']'.repeat(50)},`, '1]', Math.min(bytes, 1_000_000)),
};

const repeated = (first: string, part: string, last: string, bytes: number): string =>
  first + part.repeat(Math.max(1, Math.floor((bytes - first.length - last.length) / part.length))) + last;

const object = (fields: number): string =>
  `{${Array.from({ length: fields }, (_, at) => `"k${at.toString(36)}":${at % 10}`).join(',')}}`;

const HERE = '"@"';
const roundTable = (params: string): string =>
  `{"id":"${randomUUID()}","version":"1.0","type":"task.request","from":"asker","timestamp":"${new Date().toISOString()}","payload":{"task":"security.briefing","params":${params}}}`;
const taskFormat = (payload: string): string =>
  `{"id":"${randomUUID()}","type":"parse_recipe","routing":{"source":"asker"},"payload":${payload}}`;
const messageRouting = (files: string): string =>
  `{"version":"1.0.0","msg_id":"msg_0a0b0c0d","from":"asker","to":"asker","timestamp":"${new Date().toISOString()}","sequence":1,"type":"result","payload":{"status":"success","deliverables":{"files_modified":${files}}}}`;

/** Valid bodies except for one value, so that every check runs on it. */
const RIGHT: Readonly<Record<string, readonly string[]>> = {
  'POST /v1/messages': [
    roundTable(`{"x":${HERE}}`),
    taskFormat(`{"x":${HERE}}`),
    messageRouting(HERE),
    `{"subject":"cg.v1r3.default.public.cmd.agent.asker.wakeup","headers":${HERE},"payload":{}}`,
    `{"subject":"cg.v1r3.default.public.cmd.agent.asker.wakeup","payload":{"agent_id":"asker","metadata":{"x":${HERE}}}}`,
    `{"messages":${HERE}}`,
    `{"messages":[${roundTable(`{"x":${HERE}}`)}]}`,
    `{"type":"query","evidence":{"sources":${HERE}},"payload":{}}`,
  ],
  'POST /v1/tasks': [taskFormat(`{"x":${HERE}}`)],
  'POST /v1/tasks/{id}/input': [`{"input":${HERE}}`],
  'POST /v1/batches': [`{"tasks":[${taskFormat(`{"x":${HERE}}`)}]}`],
  'POST /v1/cards': [`{"type":"tool.result","content":${HERE}}`],
  'POST /v1/claims': [`{"messages":[${roundTable(`{"x":${HERE}}`)}],"agent":"asker"}`],
  'POST /v1/graphs': [`{"nodes":[{"taskId":"${randomUUID()}","capability":"parse_recipe","payload":{"x":${HERE}}}]}`],
  'POST /v1/turns': [`{"agent_id":"asker","correlation_id":"c","recursion_depth":0,"payload":{"x":${HERE}}}`],
  'POST /v1/boxes': [`{"kind":"context","cards":${HERE}}`, `{"kind":"output","cards":${HERE}}`],
  'PUT /v1/tools/{name}': [
    `{"target_subject":"cmd.tool.x.y","parameters":{"allOf":${HERE}}}`,
    `{"target_subject":"cmd.tool.x.y","parameters":{"enum":${HERE}}}`,
  ],
};

export interface Place {
  carrier: string;
  shapes: readonly string[];
}

export const placesOf = (route: Route): Place[] => {
  const { properties = {} } = toJsonSchema(route.body, 'input');
  const fields = Object.keys(properties).map((name) => `{${JSON.stringify(name)}:${HERE}}`);
  return [
    ...fields.map((carrier) => ({ carrier, shapes: ['ones in 1 MB', 'fields'] })),
    ...[HERE, ...(RIGHT[`${route.method} ${route.path}`] ?? [])].map((carrier) => ({
      carrier,
      shapes: Object.keys(SHAPES),
    })),
  ];
};

export const filled = (carrier: string, shape: (bytes: number) => string, limit: number): string => {
  const around = Buffer.byteLength(carrier) - HERE.length;
  return carrier.replace(HERE, () => shape(limit - around));
};
