import { randomUUID } from 'node:crypto';
import { SendMessageRequest, type Task } from '@a2a-js/sdk';
import {
  type Client,
  ClientFactory,
  ClientFactoryOptions,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  RestTransportFactory,
} from '@a2a-js/sdk/client';

/** The official client, unchanged, with a key. */
export const a2aClient = (
  address: string,
  { key }: { key: string },
  agent: string,
  binding: 'JSONRPC' | 'HTTP+JSON' = 'JSONRPC',
): Promise<Client> => {
  const fetchImpl = keyedFetch(key);
  const options = ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
    transports: [new JsonRpcTransportFactory({ fetchImpl }), new RestTransportFactory({ fetchImpl })],
    cardResolver: new DefaultAgentCardResolver({ fetchImpl }),
    preferredTransports: [binding],
  });
  return new ClientFactory(options).createFromUrl(`${address}/a2a/${agent}/`);
};

const keyedFetch =
  (key: string): typeof fetch =>
  (input, init) => {
    const headers = new Headers(init?.headers);
    headers.set('authorization', `Bearer ${key}`);
    return fetch(input, { ...init, headers });
  };

/** A `SendMessageRequest` from its JSON. */
export const a2aMessage = (message: object = {}, rest: object = {}): SendMessageRequest =>
  SendMessageRequest.fromJSON({
    message: { messageId: randomUUID(), role: 'ROLE_USER', parts: [{ text: 'Tides.' }], ...message },
    ...rest,
  });

export const taskOf = (answer: object): Task => {
  if (!('status' in answer)) throw new Error(`No task: ${JSON.stringify(answer)}`);
  return answer as Task;
};
