import { randomUUID } from 'node:crypto';
import { SendMessageRequest } from '@a2a-js/sdk';
import {
  ClientFactory,
  ClientFactoryOptions,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
} from '@a2a-js/sdk/client';

/** Gives an agent of any protocol a message with the official A2A client, and prints what comes of it. */
const { PARLEY_URL = 'http://127.0.0.1:4100', KEY = '', TO = 'shouter' } = process.env;
const [text = 'hello'] = process.argv.slice(2);

const fetchImpl: typeof fetch = (input, init) => {
  const headers = new Headers(init?.headers);
  headers.set('authorization', `Bearer ${KEY}`);
  return fetch(input, { ...init, headers });
};
const options = ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
  transports: [new JsonRpcTransportFactory({ fetchImpl })],
  cardResolver: new DefaultAgentCardResolver({ fetchImpl }),
});
const client = await new ClientFactory(options).createFromUrl(`${PARLEY_URL}/a2a/${TO}/`);

const message = { messageId: randomUUID(), role: 'ROLE_USER', parts: [{ text }] };
const answer = await client.sendMessage(SendMessageRequest.fromJSON({ message }));
const parts = 'artifacts' in answer ? answer.artifacts.flatMap((artifact) => artifact.parts) : answer.parts;
process.stdout.write(`${parts.map(({ content }) => content?.value).join('\n')}\n`);
