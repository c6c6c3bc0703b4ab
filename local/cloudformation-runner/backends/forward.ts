import { Agent, request as httpRequest } from 'node:http';
import type { AwsRequest, AwsResponse } from '../gateway/aws-call.ts';

const NOT_PASSED_ON = ['host', 'connection', 'content-length', 'transfer-encoding', 'keep-alive', 'expect'];

export type Forward = (request: AwsRequest) => Promise<AwsResponse>;

export const createForwarder = (port: number): { forward: Forward; close(): void } => {
  const agent = new Agent({ keepAlive: true });
  const forward: Forward = ({ method, path, headers, body, signal }) =>
    new Promise((resolve, reject) => {
      const passed = Object.fromEntries(Object.entries(headers).filter(([name]) => !NOT_PASSED_ON.includes(name)));
      const length = body.length > 0 || method === 'PUT' ? { 'content-length': String(body.length) } : {};
      const outgoing = httpRequest(
        { agent, host: '127.0.0.1', port, method, path, headers: { ...passed, ...length }, signal },
        (incoming) => {
          const chunks: Buffer[] = [];
          incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
          incoming.on('error', reject);
          incoming.on('end', () => {
            const single = Object.entries(incoming.headers).map(([name, value]) => [name, String(value)]);
            const kept = Object.fromEntries(single.filter(([name = '']) => !NOT_PASSED_ON.includes(name)));
            resolve({ status: incoming.statusCode ?? 500, headers: kept, body: Buffer.concat(chunks) });
          });
        },
      );
      outgoing.on('error', reject);
      outgoing.end(body);
    });
  return { forward, close: () => agent.destroy() };
};
