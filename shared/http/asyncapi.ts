import { CommonGroundMessage } from '../dialects/common-ground/schema.ts';
import { VERSION } from '../dialects/common-ground/subject.ts';
import { dialects } from '../dialects/dialects.ts';
import { inboxSubject, sendSubject } from '../relay/nats-message.ts';
import { jsonSchema } from './openapi.ts';

interface Channel {
  /** With parameters in braces. */
  address: string;
  summary: string;
  /** What Parley does there. */
  actions: readonly ('send' | 'receive')[];
  messages: readonly string[];
}

const GROUND = 'common-ground';
const NOTICE = 'notice';
/** Those whose messages say all there is to say, so that any subject will do. */
const whole = dialects.filter(({ name }) => name !== GROUND);
const ground = `cg.${VERSION}.{project}.{channel}`;

const CHANNELS: Record<string, Channel> = {
  roundTableTasks: {
    address: 'roundtable.tasks.{domain}.{action}',
    summary: 'Tasks: sent for domains that are served on-prem, received for all others',
    actions: ['send', 'receive'],
    messages: ['round-table'],
  },
  roundTableResults: {
    address: 'roundtable.results.{domain}.{taskId}',
    summary: 'Results and failures',
    actions: ['send', 'receive'],
    messages: ['round-table'],
  },
  roundTableClaimed: {
    address: 'roundtable.events.task.claimed',
    summary: 'Claims',
    actions: ['send', 'receive'],
    messages: ['round-table'],
  },
  roundTableProgress: {
    address: 'roundtable.events.task.progress',
    summary: 'Progress',
    actions: ['send', 'receive'],
    messages: ['round-table'],
  },
  roundTableRejected: {
    address: 'roundtable.events.task.claim-rejected',
    summary: 'Claims and reports that came too late',
    actions: ['send'],
    messages: [NOTICE],
  },
  roundTablePresence: {
    address: 'roundtable.events.system.{presence}',
    summary: 'knight-online and knight-offline',
    actions: ['send'],
    messages: [NOTICE],
  },
  roundTableHeartbeat: {
    address: 'roundtable.heartbeat.{agent}',
    summary: 'Heartbeats',
    actions: ['receive'],
    messages: ['round-table'],
  },
  roundTableBroadcast: {
    address: 'roundtable.broadcast.{kind}',
    summary: 'config-update, maintenance and alert, for all agents',
    actions: ['send', 'receive'],
    messages: ['round-table'],
  },
  groundCommands: {
    address: `${ground}.cmd.{component}.{target}.{suffix}`,
    summary: 'Commands; bells for workers',
    actions: ['send', 'receive'],
    messages: [GROUND],
  },
  groundEvents: {
    address: `${ground}.evt.{component}.{target}.{suffix}`,
    summary: 'What becomes of turns',
    actions: ['send'],
    messages: [GROUND],
  },
  groundStreams: {
    address: `${ground}.str.{component}.{target}.{suffix}`,
    summary: 'Chunks, on core NATS',
    actions: ['receive'],
    messages: [GROUND],
  },
  inbox: {
    address: inboxSubject('{project}', '{agent}'),
    summary: 'All else that is for an agent, in its dialect',
    actions: ['send'],
    messages: whole.map(({ name }) => name),
  },
  send: {
    address: sendSubject('{project}'),
    summary: 'All else that an agent says, in any of these dialects',
    actions: ['receive'],
    messages: whole.map(({ name }) => name),
  },
};

/** What stands on NATS, made from the very schemas that messages are checked against. */
export const asyncApi = (): object => ({
  asyncapi: '3.0.0',
  info: {
    title: 'Parley on NATS',
    version: '1',
    description: 'The subjects through which on-prem agents hand and are handed work. What Parley sends, they receive.',
  },
  defaultContentType: 'application/json',
  channels: Object.fromEntries(
    Object.entries(CHANNELS).map(([name, { address, summary, messages }]) => [
      name,
      {
        address,
        summary,
        parameters: Object.fromEntries([...address.matchAll(/\{(\w+)\}/g)].map(([, parameter]) => [parameter, {}])),
        messages: Object.fromEntries(messages.map((one) => [one, { $ref: `#/components/messages/${one}` }])),
      },
    ]),
  ),
  operations: Object.fromEntries(
    Object.entries(CHANNELS).flatMap(([name, { actions }]) =>
      actions.map((action) => [`${action}.${name}`, { action, channel: { $ref: `#/channels/${name}` } }]),
    ),
  ),
  components: {
    messages: {
      ...Object.fromEntries(whole.map(({ name, schema }) => [name, { name, payload: jsonSchema(schema, 'input') }])),
      [GROUND]: {
        name: GROUND,
        headers: jsonSchema(CommonGroundMessage.shape.headers, 'input'),
        payload: jsonSchema(CommonGroundMessage.shape.payload, 'input'),
      },
      [NOTICE]: { name: NOTICE, payload: { type: 'object', required: ['id', 'type', 'payload'] } },
    },
  },
});
