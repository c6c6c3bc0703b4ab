import { resolve } from 'node:path';
import { Connection } from './connection.ts';
import { ended, spawned } from './own-processes.ts';
import { DECLARED } from './wire.ts';

const MAIN = resolve(import.meta.dirname, '../local/main.ts');
const BARE = resolve(import.meta.dirname, 'bare-server.ts');
export const ADMIN_KEY = 'the-admin-key-of-the-bench';

export interface ServerProcess {
  pid: number;
  port: number;
  adminKey: string;
  register(id: string): Promise<string>;
  stop(): Promise<void>;
  /** SIGKILL, like a crash. */
  kill(): Promise<void>;
}

export const startServer = (dir: string, nodeFlags: string[] = []): Promise<ServerProcess> =>
  started([...nodeFlags, MAIN, '--port', '0', '--data', dir]);

export const startBareServer = (dir: string): Promise<ServerProcess> => started([BARE, dir]);

const started = async (command: string[]): Promise<ServerProcess> => {
  const child = spawned(command, {
    env: { ...process.env, PARLEY_ADMIN_KEY: ADMIN_KEY },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const port = await new Promise<number>((found, failed) => {
    child.once('exit', (code) => failed(new Error(`the server ended with ${code}`)));
    child.stdout?.on('data', (text) => {
      const [, port] = /listening on http:\/\/[^:]+:(\d+)/.exec(String(text)) ?? [];
      if (port) found(Number(port));
    });
  });
  return {
    pid: child.pid ?? 0,
    port,
    adminKey: ADMIN_KEY,
    register: (id) => register(port, id),
    stop: () => ended(child, 'SIGTERM'),
    kill: () => ended(child, 'SIGKILL'),
  };
};

const register = async (port: number, id: string): Promise<string> => {
  const admin = new Connection(port, ADMIN_KEY);
  const registration = JSON.stringify({ dialect: 'round-table', ...DECLARED });
  const { key }: { key: string } = JSON.parse(await admin.call('PUT', `/v1/agents/${id}`, registration, 201));
  admin.close();
  return key;
};
