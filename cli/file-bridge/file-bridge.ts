import { setTimeout as pause } from 'node:timers/promises';
import { ConnectionError, type Parley, ParleyError } from '../../sdk/typescript/src/index.ts';
import type { BridgeContext, BridgeNotice } from './bridge-context.ts';
import { BusFolders } from './bus-folders.ts';
import { type Disk, disk as realDisk } from './disk.ts';
import { MAX_INBOX_FILES, receiveMessages } from './receive-messages.ts';
import { type Delays, sendFiles } from './send-files.ts';

export interface FileBridgeOptions {
  parley: Parley;
  root: string;
  /** The agents that read and write files here. By default those with the profile of the bus. */
  agents?: string[] | undefined;
  signal: AbortSignal;
  report: (notice: BridgeNotice) => void;
  disk?: Disk;
}

/** How often the folders are looked at; the bus itself takes longer to write a message. */
const LOOK_MS = 200;
const REFRESH_MS = 30_000;
const WAIT_SECONDS = 20;
const RETRY_MS = { first: 500, most: 10_000 };
/** Each has a folder. */
const MAX_REMOTE = 1000;

export class FileBridge {
  readonly #named: string[] | undefined;
  readonly #bridge: BridgeContext;
  readonly #stop = new AbortController();
  readonly #delays: Delays = new Map();
  readonly #local = new Set<string>();
  readonly #remote = new Set<string>();
  /** What waits for something, which is told once. */
  readonly #waiting = new Set<string>();

  constructor({ parley, root, agents, signal, report, disk = realDisk }: FileBridgeOptions) {
    this.#named = agents;
    this.#bridge = {
      parley,
      disk,
      report,
      signal: AbortSignal.any([signal, this.#stop.signal]),
      folders: new BusFolders(disk, root),
      now: Date.now,
      isLocal: (agent) => this.#local.has(agent.toLowerCase()),
      isRemote: (agent) => this.#remote.has(agent.toLowerCase()),
    };
  }

  /** Until the signal is aborted; rejects where nothing could be done by trying again. */
  async run(): Promise<void> {
    const { signal, report, folders } = this.#bridge;
    await folders.create();
    await this.#keepTrying('agents', () => this.#refreshAgents());
    if (!signal.aborted) report({ kind: 'ready', name: folders.root, detail: [...this.#local].join(', ') });
    const readers = new Map<string, Promise<void>>();
    const startReaders = (): void => {
      for (const agent of this.#local) {
        if (!readers.has(agent)) readers.set(agent, this.#endAllOnError(this.#readInbox(agent)));
      }
    };
    startReaders();
    await Promise.all([
      this.#endAllOnError(this.#repeat('files', LOOK_MS, () => sendFiles(this.#bridge, this.#delays))),
      this.#endAllOnError(
        this.#repeat('agents', REFRESH_MS, async () => {
          await this.#refreshAgents();
          startReaders();
        }),
      ),
    ]);
    await Promise.all(readers.values());
    if (this.#stop.signal.aborted) throw this.#stop.signal.reason;
  }

  /** Sends and receives what is there now. */
  async runOnce(): Promise<void> {
    const { folders } = this.#bridge;
    await folders.create();
    await this.#refreshAgents();
    await sendFiles(this.#bridge, this.#delays);
    for (const agent of this.#local) {
      while ((await receiveMessages(this.#bridge, agent, 0)) === 'received') {}
    }
  }

  async #endAllOnError(loop: Promise<void>): Promise<void> {
    try {
      await loop;
    } catch (error) {
      this.#stop.abort(error);
    }
  }

  #readInbox(agent: string): Promise<void> {
    return this.#repeat(agent, LOOK_MS, async () => {
      // Its folder may be another bridge's now.
      if (!this.#local.has(agent)) return;
      const done = await receiveMessages(this.#bridge, agent, WAIT_SECONDS);
      const key = `${agent}: full`;
      if (done !== 'full') this.#waiting.delete(key);
      else this.#tellOnce(key, agent, `${MAX_INBOX_FILES} files wait in its inbox. The rest waits in Parley.`);
    });
  }

  async #repeat(name: string, everyMs: number, work: () => Promise<void>): Promise<void> {
    while (!this.#bridge.signal.aborted) {
      await this.#keepTrying(name, work);
      await this.#pause(everyMs);
    }
  }

  /** Parley may be away for a while; a wrong key or a full disk does not mend itself. */
  async #keepTrying(name: string, work: () => Promise<void>): Promise<void> {
    const { signal, report } = this.#bridge;
    for (let delayMs = RETRY_MS.first; !signal.aborted; delayMs = Math.min(RETRY_MS.most, delayMs * 2)) {
      try {
        await work();
        if (this.#waiting.delete(name)) report({ kind: 'ready', name, detail: 'Parley answers again.' });
        return;
      } catch (error) {
        if (signal.aborted) return;
        if (!(error instanceof ConnectionError) && !isTemporary(error)) throw error;
        this.#tellOnce(name, name, error.message);
        await this.#pause(delayMs);
      }
    }
  }

  #pause(ms: number): Promise<void> {
    return pause(ms, undefined, { signal: this.#bridge.signal }).catch(() => {});
  }

  #tellOnce(key: string, name: string, detail: string): void {
    if (this.#waiting.has(key)) return;
    this.#waiting.add(key);
    this.#bridge.report({ kind: 'waiting', name, detail });
  }

  async #refreshAgents(): Promise<void> {
    const { parley, disk, folders } = this.#bridge;
    const known = await listAgents(parley);
    const local = this.#pickLocal(known);
    const isLocal = new Set(local);
    const others = known.map(({ id }) => id).filter((id) => !isLocal.has(id));
    const remote = others.slice(0, MAX_REMOTE);
    if (others.length > MAX_REMOTE) {
      this.#tellOnce('many', 'agents', `${others.length} are registered. The first ${MAX_REMOTE} have a folder here.`);
    }
    const existing = await folders.findAgentFolders();
    for (const id of [...local, ...remote]) {
      for (const folder of existing.get(id) ?? [id]) await disk.makeFolder(folders.getInbox(folder));
    }
    replaceAll(this.#local, local);
    replaceAll(this.#remote, remote);
  }

  /** An agent that was removed while the bridge runs does not end it for the others. */
  #pickLocal(known: RegisteredAgent[]): string[] {
    try {
      return pickLocal(known, this.#named);
    } catch (error) {
      if (!(error instanceof BridgeError) || this.#local.size === 0) throw error;
      this.#tellOnce(error.message, 'agents', error.message);
      return [...this.#local].filter((agent) => known.some(({ id }) => id === agent));
    }
  }
}

const isTemporary = (error: unknown): error is ParleyError =>
  error instanceof ParleyError && (error.retryable || error.status === 429 || error.status >= 500);

const replaceAll = (set: Set<string>, values: string[]): void => {
  set.clear();
  for (const value of values) set.add(value);
};

interface RegisteredAgent {
  id: string;
  dialect: string;
  profile?: string;
  transport?: string;
}

const listAgents = async (parley: Parley): Promise<RegisteredAgent[]> => {
  const all: RegisteredAgent[] = [];
  for (let cursor: string | undefined; ; ) {
    const page = await parley.call<{ agents: RegisteredAgent[]; cursor?: string; nextCursor?: string }>(
      'GET',
      '/v1/agents',
      { query: { limit: 100, cursor }, retryForMs: 0 },
    );
    all.push(...page.agents);
    cursor = page.nextCursor ?? page.cursor;
    if (cursor === undefined) return all;
  }
};

const pickLocal = (known: RegisteredAgent[], named: string[] | undefined): string[] => {
  if (!named) {
    const found = known.filter(({ profile, transport }) => profile === 'cfn' && transport !== 'nats');
    if (found.length > 0) return found.map(({ id }) => id);
    throw new BridgeError('No agent is registered with "profile": "cfn". Register one, or name agents in --agents.');
  }
  return named.map((name) => {
    const agent = known.find(({ id }) => id === name.toLowerCase());
    if (!agent) throw new BridgeError(`No agent ${name} is registered. PUT /v1/agents/${name.toLowerCase()} does it.`);
    if (agent.dialect === 'message-routing') return agent.id;
    throw new BridgeError(`${name} speaks ${agent.dialect}. Agents of this bridge have "dialect": "message-routing".`);
  });
};

/** Nothing that trying again would mend. */
export class BridgeError extends Error {}
