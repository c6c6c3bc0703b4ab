import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Member } from './cast.ts';
import type { DemoServer } from './start-server.ts';

const PYTHON_SDK = join(import.meta.dirname, '..', '..', 'sdk', 'python');
const STOP_MS = 3000;

/** The agents, each a process of its own. */
export class Ensemble {
  readonly #server: DemoServer;
  readonly #children: ChildProcess[] = [];
  #isStopping = false;

  constructor(server: DemoServer) {
    this.#server = server;
  }

  /** All are registered before the first one works, so that each finds the others. */
  async start(cast: readonly Member[]): Promise<void> {
    await this.#server.call('PUT', '/v1/tools/calculator', {
      target_subject: 'cmd.tool.calculator.execute',
      description: 'a + b, a - b, a * b, a / b',
    });
    const keys = await Promise.all(
      cast.map(async ({ id, registration }) => (await this.#server.call('PUT', `/v1/agents/${id}`, registration)).key),
    );
    for (const [index, member] of cast.entries()) this.#spawn(member, keys[index]);
  }

  #spawn({ id, command: [program = '', ...args] }: Member, key: string): void {
    const { url, nats } = this.#server;
    const settings = { PARLEY_URL: url, PARLEY_KEY: key, AGENT: id, KEY: key, PYTHONPATH: PYTHON_SDK };
    const env = { ...settings, ...(nats !== undefined && { NATS_URL: nats }) };
    const child = spawn(program, args, {
      env: { ...process.env, ...env, PYTHONDONTWRITEBYTECODE: '1' },
      stdio: ['ignore', 'ignore', 'pipe'],
      detached: true,
    });
    let said = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      said = `${said}${text}`.slice(-2000);
    });
    child.on('error', (error) => console.error(`${id} cannot be started: ${error.message}`));
    child.on('exit', (code) => {
      if (!this.#isStopping) console.error(`${id} has ended with ${code}. ${said}`);
    });
    this.#children.push(child);
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    const running = this.#children.filter(
      ({ exitCode, signalCode, pid }) => pid && exitCode === null && signalCode === null,
    );
    const exits = running.map((child) => once(child, 'exit'));
    for (const child of running) child.kill('SIGTERM');
    const tooLong = setTimeout(() => {
      for (const child of running) child.kill('SIGKILL');
    }, STOP_MS);
    await Promise.all(exits);
    clearTimeout(tooLong);
  }
}
