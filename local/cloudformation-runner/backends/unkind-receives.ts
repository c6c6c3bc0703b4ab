import { z } from 'zod';
import { buildJsonResponse } from '../gateway/errors.ts';
import { type Random, shuffle } from '../random.ts';
import type { Forward } from './forward.ts';

const Receive = z.looseObject({
  WaitTimeSeconds: z.number().default(0),
  AttributeNames: z.array(z.string()).default([]),
  MessageSystemAttributeNames: z.array(z.string()).default([]),
});
const Message = z.looseObject({ Attributes: z.record(z.string(), z.string()).optional() });
const Received = z.looseObject({ Messages: z.array(Message).default([]) });

const FALSE_EMPTY = 1 / 4;
const GROUP = 'MessageGroupId';

/**
 * A short poll of SQS asks some of its servers only, so that it may find nothing where something is. And a queue keeps the order of a
 * group, not that between groups.
 */
export const createUnkindReceives =
  (forward: Forward, random: Random): Forward =>
  async (request) => {
    if (request.headers['x-amz-target'] !== 'AmazonSQS.ReceiveMessage') return forward(request);
    const asked = Receive.parse(JSON.parse(request.body.toString()));
    if (asked.WaitTimeSeconds === 0 && random() < FALSE_EMPTY) return buildJsonResponse({});
    const names = [...asked.AttributeNames, ...asked.MessageSystemAttributeNames];
    const isGroupWanted = names.includes(GROUP) || names.includes('All');
    const body = { ...asked, MessageSystemAttributeNames: [...asked.MessageSystemAttributeNames, GROUP] };
    const response = await forward(isGroupWanted ? request : { ...request, body: Buffer.from(JSON.stringify(body)) });
    if (response.status !== 200) return response;
    const { Messages: messages, ...rest } = Received.parse(JSON.parse(response.body.toString()));
    if (messages.length === 0) return response;
    const groups = Map.groupBy(messages, ({ Attributes }, index) => Attributes?.[GROUP] ?? index);
    const mixed = shuffle([...groups.values()], random).flat();
    const answered = isGroupWanted ? mixed : mixed.map(hideGroup);
    return { ...response, body: Buffer.from(JSON.stringify({ ...rest, Messages: answered })) };
  };

const hideGroup = ({ Attributes: { [GROUP]: _, ...attributes } = {}, ...message }: z.output<typeof Message>) => ({
  ...message,
  ...(Object.keys(attributes).length > 0 && { Attributes: attributes }),
});
