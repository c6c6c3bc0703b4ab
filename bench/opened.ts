import { startParley } from '../local/composition.ts';
import config from '../parley.config.ts';
import { createBodyReader } from '../shared/http/read-body.ts';
import { Calls } from './calls.ts';
import { removeFolder, temporaryFolder } from './own-processes.ts';

const ADMIN_KEY = 'an-admin-key-for-the-bench';

/** In one process without sockets, to measure the call alone. */
export const opened = async () => {
  const dir = temporaryFolder();
  const calls = new Calls();
  let isFirst = true;
  const parley = await startParley({
    dir,
    config,
    adminKey: ADMIN_KEY,
    log: () => {},
    wrapPorts: (ports) => {
      // The first ports are the domain's, the second the dispatcher's.
      const records = isFirst ? calls.counting(ports.records) : ports.records;
      isFirst = false;
      return { ...ports, records };
    },
  });
  const call = async (method: string, target: string, body?: object, headers: Record<string, string> = {}) => {
    const [path = '', query = ''] = target.split('?');
    const response = await parley.handle({
      method,
      path,
      query,
      headers: { authorization: `Bearer ${ADMIN_KEY}`, ...headers },
      readBody: createBodyReader(Buffer.from(body ? JSON.stringify(body) : '')),
    });
    const { status, body: text } = response;
    if (status >= 400 || typeof text !== 'string') throw new Error(`${method} ${target}: ${status} ${text}`);
    return text === '' ? undefined : JSON.parse(text);
  };
  const handle = (method: string, path: string, body: Uint8Array) =>
    parley.handle({
      method,
      path,
      query: '',
      headers: { authorization: `Bearer ${ADMIN_KEY}` },
      readBody: createBodyReader(body),
    });
  const close = async () => {
    await parley.stop();
    removeFolder(dir);
  };
  return { calls, call, handle, close };
};

export type Opened = Awaited<ReturnType<typeof opened>>;
