import { Agent, request } from 'node:http';

const agent = new Agent({ keepAlive: true, maxSockets: 512 });

/** One call with as little around it as Node.js allows. */
export const createRawClient =
  (port: number, key: string) =>
  // biome-ignore lint/suspicious/noExplicitAny: answers of a server that the bench itself started
  (method: string, path: string, body?: object): Promise<any> =>
    new Promise((resolve, reject) => {
      const text = body === undefined ? '' : JSON.stringify(body);
      const headers = {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(text),
        'parley-dialect': 'native',
      };
      const call = request({ host: '127.0.0.1', port, method, path, agent, headers }, (answer) => {
        let said = '';
        answer.setEncoding('utf8').on('data', (piece) => {
          said += piece;
        });
        answer.on('end', () => {
          if ((answer.statusCode ?? 500) >= 300) reject(new Error(`${answer.statusCode} ${said}`));
          else resolve(JSON.parse(said));
        });
      });
      call.on('error', reject);
      call.end(text);
    });
