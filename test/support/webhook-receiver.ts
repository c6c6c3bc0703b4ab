import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import baseConfig from '../../parley.config.ts';
import { eventually } from './eventually.ts';
import { atEndOf, type Owner } from './server-process.ts';

export interface ReceivedCall {
  headers: IncomingHttpHeaders;
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into whatever came
  body: any;
}

/** A receiver on this machine, which answers as the test says. */
export const webhookReceiver = async (owner: Owner) => {
  const calls: ReceivedCall[] = [];
  const answers = { status: 200, headers: {} as Record<string, string> };
  const server = createServer(async (request, response) => {
    let text = '';
    for await (const piece of request.setEncoding('utf8')) text += piece;
    calls.push({ headers: request.headers, text, body: JSON.parse(text) });
    response.writeHead(answers.status, answers.headers).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  atEndOf(owner, () => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const waitFor = (count: number): Promise<ReceivedCall[]> =>
    eventually(() => {
      if (calls.length < count) throw new Error(`${calls.length} of ${count} calls: ${JSON.stringify(calls)}`);
      return calls;
    });
  return { url: `http://127.0.0.1:${port}/hook`, calls, answers, waitFor };
};

export const outboundConfig = { outbound: { ...baseConfig.outbound, allowPrivateAddresses: true } };

/** As Standard Webhooks has it. */
export const isSigned = ({ headers, text }: ReceivedCall, secret: string): boolean => {
  const key = secret.startsWith('whsec_') ? Buffer.from(secret.slice(6), 'base64') : Buffer.from(secret);
  const content = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${text}`;
  return headers['webhook-signature'] === `v1,${createHmac('sha256', key).update(content).digest('base64')}`;
};
