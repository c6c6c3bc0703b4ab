import { existsSync, mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { type Command, EXIT, ExitError, getText } from '../command.ts';
import { connectFrom, isAdminKey } from '../connection.ts';
import type { BridgeNotice } from '../file-bridge/bridge-context.ts';
import { FileBridge } from '../file-bridge/file-bridge.ts';
import { type Output, type Style, toPlainText } from '../output.ts';
import { resolveConnection } from '../profiles.ts';

const STYLES: Partial<Record<BridgeNotice['kind'], Style>> = {
  rejected: 'red',
  delayed: 'yellow',
  waiting: 'yellow',
  ready: 'green',
  duplicate: 'dim',
};

const describe = (notice: BridgeNotice): string => {
  if (!('message' in notice)) return `${notice.name}: ${notice.detail}`;
  const { from, to, type, msg_id } = notice.message;
  return `${from} → ${to}  ${type}  ${msg_id}${notice.detail ? `  ${notice.detail}` : ''}`;
};

const createReport =
  (out: Output) =>
  (notice: BridgeNotice): void => {
    if (out.isJson) out.json({ at: new Date().toISOString(), ...notice });
    else out.line(`${out.style(STYLES[notice.kind], notice.kind.padEnd(9))} ${toPlainText(describe(notice))}`);
  };

const files: Command = {
  name: 'bridge files',
  summary: 'Connect agents that exchange files, as the document of Message Routing has it',
  args: 'DIR',
  arity: [1, 1],
  options: { agents: '<names> the agents that read and write files there (those with the profile cfn)' },
  examples: [
    'parley bridge files state/agents',
    'parley bridge files /dev/shm/cfn-mvp/messages --agents lead,worker-1',
  ],
  run: async ({ args: [dir = ''], options, out, signal }) => {
    const root = resolve(dir);
    if (!existsSync(root)) throw new ExitError(EXIT.usage, `There is no folder ${root}. Create it, or name another.`);
    const lock = await lockFolder(root);
    try {
      const parley = connectFrom(options);
      const bridge = new FileBridge({ parley, root, agents: getAgents(options), signal, report: createReport(out) });
      await (options.once ? bridge.runOnce() : bridge.run());
    } finally {
      lock.close();
    }
  },
};

/** The key of an agent is for this one alone: `prl_<project>.<agent>.<secret>`. */
const getAgents = (options: Parameters<typeof getText>[0]): string[] | undefined => {
  const named = getText(options, 'agents')
    ?.split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
  const { key, ...rest } = resolveConnection(options);
  if (named || isAdminKey({ ...rest, key })) return named;
  return [key.split('.')[1] ?? ''];
};

/** It ends with the process, however that ends. */
const lockFolder = async (root: string): Promise<DatabaseSync> => {
  // Other commands run where there is no SQLite.
  const { DatabaseSync } = await import('node:sqlite');
  const own = join(root, '.parley-bridge');
  mkdirSync(own, { recursive: true });
  const lock = new DatabaseSync(join(own, 'lock.db'));
  try {
    lock.exec('BEGIN EXCLUSIVE');
    return lock;
  } catch {
    lock.close();
    throw new ExitError(EXIT.failed, `Another bridge runs in ${root}.`);
  }
};

export { files };
