import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { Disk } from './disk.ts';

/** What the bridge keeps beside the folders of the agents. Its name begins with a dot: scripts that list the agents skip it. */
const OWN_FOLDER = '.parley-bridge';

/** The folders of one bus: `<agent>/inbox/<msg_id>.json`, and what is under way in either direction. */
export class BusFolders {
  readonly root: string;
  readonly own: string;
  readonly outgoing: string;
  readonly incoming: string;
  readonly rejected: string;
  readonly #disk: Disk;

  constructor(disk: Disk, root: string) {
    this.#disk = disk;
    this.root = root;
    this.own = join(root, OWN_FOLDER);
    this.outgoing = join(this.own, 'outgoing');
    this.incoming = join(this.own, 'incoming');
    this.rejected = join(this.own, 'rejected');
  }

  async create(): Promise<void> {
    for (const folder of [this.outgoing, this.incoming, this.rejected]) await this.#disk.makeFolder(folder);
  }

  /** The bus keeps capitals in the names of agents, and Parley does not. */
  async findAgentFolders(): Promise<Map<string, string[]>> {
    const names = (await this.#disk.listNames(this.root)).filter((name) => AGENT_FOLDER.test(name));
    return Map.groupBy(names.toSorted(), (name) => name.toLowerCase());
  }

  getInbox(folder: string): string {
    return join(this.root, folder, 'inbox');
  }

  getOutbox(folder: string): string {
    return join(this.root, folder, 'outbox');
  }

  /** The messages in a folder; what is being written has another ending. */
  async listMessages(folder: string): Promise<string[]> {
    return (await this.#disk.listNames(folder)).filter((name) => name.endsWith('.json') && !name.startsWith('.'));
  }

  /** `name`, or where that is taken the same with a number. */
  async findFreeName(folder: string, name: string, isReplaced?: (path: string) => Promise<boolean>): Promise<string> {
    for (let count = 1; ; count++) {
      const path = join(folder, count === 1 ? name : `${name.slice(0, -'.json'.length)}.${count}.json`);
      if (!(await this.#disk.inspect(path)) || (await isReplaced?.(path))) return path;
    }
  }
}

export const AGENT_FOLDER = /^[a-zA-Z0-9_-]{1,64}$/;

/** 255 bytes are a name on Linux, and a message may have any printable id. */
const FILE_NAME = /^[a-zA-Z0-9_-][a-zA-Z0-9._-]{0,127}$/;

export const toFileName = (messageId: string): string =>
  `${FILE_NAME.test(messageId) ? messageId : `msg_${createHash('sha256').update(messageId).digest('hex').slice(0, 8)}`}.json`;
