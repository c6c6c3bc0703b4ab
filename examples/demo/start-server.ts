import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findNatsServer } from '../../local/nats-server.ts';

export interface DemoServer {
  url: string;
  consoleLink: string;
  /** Where a NATS server is on the path. */
  nats: string | undefined;
  // biome-ignore lint/suspicious/noExplicitAny: answers are JSON, and an example need not check what Parley checks
  call(method: string, path: string, body?: object): Promise<any>;
  stream(path: string, signal: AbortSignal): Promise<Response>;
  exited: Promise<unknown>;
  stop(): Promise<void>;
}

const MAIN = join(import.meta.dirname, '..', '..', 'local', 'main.ts');

/** A server of its own, whose state is gone afterwards. */
export const startServer = async (port: string): Promise<DemoServer> => {
  const dir = mkdtempSync(join(tmpdir(), 'parley-demo-'));
  // In a group of its own: Ctrl-C is for the demonstration, which ends the server last.
  const child = spawn(
    process.execPath,
    [MAIN, '--port', port, '--data', dir, '--nats', findNatsServer() ? 'local' : 'off'],
    {
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    },
  );
  const exited = once(child, 'exit');
  let [said, complaints] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaints = `${complaints}${text}`.slice(-4000);
  });
  // The greeting is one write.
  await Promise.race([once(child.stdout, 'data'), exited]);
  const [, url] = /listening on (http:\S+)/.exec(said) ?? [];
  if (url === undefined) throw new Error(`The server did not start. ${said}${complaints}`);
  const [consoleLink = ''] = /http:\S+sign-in\S+/.exec(said) ?? [];
  const [nats] = /nats:\S+/.exec(said) ?? [];
  const authorization = `Bearer ${readFileSync(join(dir, 'admin-key'), 'utf8').trim()}`;
  return {
    url,
    consoleLink,
    nats,
    exited,
    call: async (method, path, body) => {
      const response = await fetch(url + path, {
        method,
        headers: { authorization },
        ...(body && { body: JSON.stringify(body) }),
      });
      // biome-ignore lint/suspicious/noExplicitAny: as above
      const answer: any = await response.json();
      if (!response.ok) throw new Error(`${method} ${path}: ${answer.detail}`);
      return answer;
    },
    stream: (path, signal) => fetch(url + path, { headers: { authorization, accept: 'text/event-stream' }, signal }),
    stop: async () => {
      child.kill('SIGTERM');
      await exited;
      rmSync(dir, { recursive: true, force: true });
    },
  };
};
