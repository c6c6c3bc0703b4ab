import { accessSync, constants, existsSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import { ConnectionError, ParleyError } from '../../sdk/typescript/src/index.ts';
import { type Command, EXIT, ExitError, getText } from '../command.ts';
import { connectFrom, isAdminKey } from '../connection.ts';
import { resolveConnection } from '../profiles.ts';
import { isNewEnough, runServerProgram } from '../server-program.ts';

const up: Command = {
  name: 'up',
  summary: 'Start a server on this machine',
  options: {
    port: '<number> where to listen (4100)',
    host: '<address> on which address (127.0.0.1)',
    data: '<folder> where the state is kept (.parley)',
    nats: '<url> the NATS server whose agents take part; local starts one',
    config: '<file> the configuration: JSON or a module',
    verbose: 'a line on standard error for each request',
    'accept-damage': 'go on with what can be read of a damaged storage',
  },
  examples: ['parley up', 'parley up --port 8080 --data /var/lib/parley'],
  run: async ({ options, signal }) => {
    const args = ['port', 'host', 'data', 'nats', 'config'].flatMap((name) => {
      const value = getText(options, name);
      return value === undefined ? [] : [`--${name}`, value];
    });
    const flags = ['verbose', 'accept-damage'].filter((name) => options[name]).map((name) => `--${name}`);
    await runServerProgram([...args, ...flags], signal);
  },
};

const status: Command = {
  name: 'status',
  summary: 'Show whether Parley answers, its agents and its tasks',
  examples: ['parley status', 'parley status --json'],
  run: async ({ options, out }) => {
    const parley = connectFrom(options);
    const health = await parley.call<{ status: string; nats?: string }>('GET', '/healthz');
    const [{ agents }, { tasks: dead }, { domains }] = await Promise.all([
      parley.call<{ agents: { health?: { online?: boolean } }[] }>('GET', '/v1/agents'),
      parley.call<{ tasks: object[]; cursor?: string }>('GET', '/v1/dead-letters', { query: { limit: 100 } }),
      parley.call<{ domains: object[] }>('GET', '/v1/domains'),
    ]);
    const online = agents.filter((agent) => agent.health?.online).length;
    const facts = {
      url: parley.url,
      status: health.status,
      agents: agents.length,
      online,
      domains: domains.length,
      deadLetters: dead.length,
    };
    if (out.isJson) {
      out.json(facts);
      return;
    }
    out.line(
      `${out.style('green', '●')} Parley at ${parley.url} answers${health.nats ? `; NATS is ${health.nats}` : ''}`,
    );
    out.line(`  agents        ${agents.length}, ${online} online`);
    out.line(`  domains       ${domains.length}`);
    const letters = `${dead.length}${dead.length === 100 ? ' or more' : ''}`;
    out.line(`  dead letters  ${out.style(dead.length > 0 ? 'red' : undefined, letters)}`);
  },
};

interface Check {
  name: string;
  ok: boolean;
  says: string;
}

const checkMachine = (): Check[] => {
  const { bavail, bsize } = statfsSync('.');
  const freeMb = Math.floor((bavail * bsize) / 2 ** 20);
  const folder = existsSync('.parley') ? '.parley' : '.';
  let canWrite = true;
  try {
    accessSync(folder, constants.W_OK);
  } catch {
    canWrite = false;
  }
  return [
    {
      name: 'Node.js',
      ok: isNewEnough(),
      says: `${process.versions.node}; 22.13 or newer is needed`,
    },
    { name: 'disk', ok: freeMb > 100, says: `${freeMb} MB free; below 100 MB writes may be refused` },
    {
      name: 'folder',
      ok: canWrite,
      says: `${join(process.cwd(), folder)} ${canWrite ? 'can' : 'cannot'} be written to`,
    },
  ];
};

const checkDeployment = async (options: Parameters<typeof connectFrom>[0]): Promise<Check[]> => {
  const found = resolveConnection(options);
  const parley = connectFrom(options);
  try {
    await parley.call('GET', '/healthz', { retryForMs: 0 });
  } catch (error) {
    if (!(error instanceof ConnectionError)) throw error;
    return [{ name: 'server', ok: false, says: `${error.message}. \`parley up\` starts one here` }];
  }
  const server = { name: 'server', ok: true, says: `${parley.url} answers` };
  const isOpen = parley.url.startsWith('http://') && !/\/\/(localhost|127\.|\[::1\])/.test(parley.url);
  const tls = {
    name: 'TLS',
    ok: !isOpen,
    says: isOpen ? 'keys travel unencrypted: put TLS in front' : 'not needed here',
  };
  try {
    await parley.call('GET', '/v1/domains', { retryForMs: 0 });
    return [
      server,
      tls,
      { name: 'key', ok: true, says: `of ${isAdminKey(found) ? 'an administrator' : 'an agent'}, valid` },
    ];
  } catch (error) {
    if (!(error instanceof ParleyError)) throw error;
    return [server, tls, { name: 'key', ok: false, says: `${error.message} Pass --key, or set PARLEY_KEY` }];
  }
};

const doctor: Command = {
  name: 'doctor',
  summary: 'Check this machine and the deployment, and say what to do',
  examples: ['parley doctor', 'parley doctor --profile production'],
  run: async ({ options, out }) => {
    const checks = [...checkMachine(), ...(await checkDeployment(options))];
    if (out.isJson) out.json(checks);
    else {
      for (const { name, ok, says } of checks) {
        out.line(`${out.style(ok ? 'green' : 'red', ok ? 'ok ' : 'bad')}  ${name.padEnd(8)}  ${says}`);
      }
    }
    if (checks.some(({ ok }) => !ok)) throw new ExitError(EXIT.failed);
  },
};

export { doctor, status, up };
