import type { Config } from '../config/config.ts';
import type { Dialect } from '../dialects/dialect.ts';
import type { NatsChannel, NatsDescription } from '../dialects/nats-binding.ts';
import { DIALECTS } from '../dialects/registry.ts';
import { formatInboxSubject, formatSendSubject } from '../nats/nats-message.ts';
import { toJsonSchema } from './openapi-schemas.ts';

const NOTICE = 'notice';

interface DescribedDialect extends Partial<NatsDescription> {
  dialect: Dialect;
}

type ChannelWithMessages = NatsChannel & { messages: readonly string[] };

/** What stands on NATS, made from the very schemas that messages are checked against. */
export const buildAsyncApi = async (config: Config): Promise<object> => {
  const dialects: DescribedDialect[] = await Promise.all(
    DIALECTS.map(async (dialect) => ({ dialect, ...(await dialect.natsBinding?.loadAsyncApiChannels(config)) })),
  );
  const channels = { ...Object.fromEntries(dialects.flatMap(listDialectChannels)), ...buildCommonChannels(dialects) };
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
        ...Object.fromEntries(dialects.map((one) => [one.dialect.name, buildMessage(one)])),
        [NOTICE]: { name: NOTICE, payload: { type: 'object', required: ['id', 'type', 'payload'] } },
      },
    },
  };
};

const listDialectChannels = ({ dialect, channels = {} }: DescribedDialect): [string, ChannelWithMessages][] =>
  Object.entries(channels).map(([name, channel]) => [
    name,
    { ...channel, messages: [channel.isNotice ? NOTICE : dialect.name] },
  ]);

const buildCommonChannels = (dialects: DescribedDialect[]): Record<string, ChannelWithMessages> => {
  const messages = dialects.filter(({ parts }) => !parts).map(({ dialect }) => dialect.name);
  return {
    inbox: {
      address: formatInboxSubject('{project}', '{agent}'),
      summary: 'All else that is for an agent, in its dialect',
      actions: ['send'],
      messages,
    },
    send: {
      address: formatSendSubject('{project}'),
      summary: 'All else that an agent says, in any of these dialects',
      actions: ['receive'],
      messages,
    },
  };
};

const buildMessage = ({ dialect: { name, schema }, parts }: DescribedDialect): object =>
  parts
    ? { name, headers: toJsonSchema(parts.headers, 'input'), payload: toJsonSchema(parts.payload, 'input') }
    : { name, payload: toJsonSchema(schema, 'input') };
