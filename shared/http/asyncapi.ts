import type { Dialect } from '../dialects/dialect.ts';
import { dialects } from '../dialects/dialects.ts';
import { inboxSubject, sendSubject } from '../relay/nats-message.ts';
import type { Channel, Described } from '../relay/on-nats.ts';
import { jsonSchema } from './openapi.ts';

const NOTICE = 'notice';

interface Spoken extends Partial<Described> {
  dialect: Dialect;
}

type Shown = Channel & { messages: readonly string[] };

/** What stands on NATS, made from the very schemas that messages are checked against. */
export const asyncApi = async (): Promise<object> => {
  const spoken: Spoken[] = await Promise.all(
    dialects.map(async (dialect) => ({ dialect, ...(await dialect.onNats?.described()) })),
  );
  const channels = { ...Object.fromEntries(spoken.flatMap(ownChannels)), ...channelsOfAll(spoken) };
  return {
    asyncapi: '3.0.0',
    info: {
      title: 'Parley on NATS',
      version: '1',
      description:
        'The subjects through which on-prem agents hand and are handed work. What Parley sends, they receive.',
    },
    defaultContentType: 'application/json',
    channels: Object.fromEntries(
      Object.entries(channels).map(([name, { address, summary, messages }]) => [
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
      Object.entries(channels).flatMap(([name, { actions }]) =>
        actions.map((action) => [`${action}.${name}`, { action, channel: { $ref: `#/channels/${name}` } }]),
      ),
    ),
    components: {
      messages: {
        ...Object.fromEntries(spoken.map((one) => [one.dialect.name, messageOf(one)])),
        [NOTICE]: { name: NOTICE, payload: { type: 'object', required: ['id', 'type', 'payload'] } },
      },
    },
  };
};

const ownChannels = ({ dialect, channels = {} }: Spoken): [string, Shown][] =>
  Object.entries(channels).map(([name, channel]) => [
    name,
    { ...channel, messages: [channel.isNotice ? NOTICE : dialect.name] },
  ]);

const channelsOfAll = (spoken: Spoken[]): Record<string, Shown> => {
  const messages = spoken.filter(({ parts }) => !parts).map(({ dialect }) => dialect.name);
  return {
    inbox: {
      address: inboxSubject('{project}', '{agent}'),
      summary: 'All else that is for an agent, in its dialect',
      actions: ['send'],
      messages,
    },
    send: {
      address: sendSubject('{project}'),
      summary: 'All else that an agent says, in any of these dialects',
      actions: ['receive'],
      messages,
    },
  };
};

const messageOf = ({ dialect: { name, schema }, parts }: Spoken): object =>
  parts
    ? { name, headers: jsonSchema(parts.headers, 'input'), payload: jsonSchema(parts.payload, 'input') }
    : { name, payload: jsonSchema(schema, 'input') };
