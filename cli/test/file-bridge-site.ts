import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from '../../sdk/typescript/src/index.ts';
import type { Wire } from '../../test/support/message-routing.ts';
import { atEndOf, type Owner } from '../../test/support/server-process.ts';
import type { TestParley } from '../../test/support/test-parley.ts';
import type { BridgeNotice } from '../file-bridge/bridge-context.ts';
import type { Disk } from '../file-bridge/disk.ts';
import { disk } from '../file-bridge/disk.ts';
import { FileBridge } from '../file-bridge/file-bridge.ts';

let sequence = 0;

/** As the bus writes it; the numbers make the messages of a test different from each other. */
export const busMessage = (type: string, from: string, to: string, payload: unknown, more: object = {}): Wire => ({
  version: '1.1',
  msg_id: `msg-1770562800-${String(++sequence).padStart(3, '0')}`,
  from,
  to,
  timestamp: 1_770_562_800,
  sequence,
  type,
  payload,
  requires_ack: false,
  ...more,
});

/** The folders of a bus, as its scripts use them. */
export class TestBus {
  readonly root: string;

  constructor(owner: Owner) {
    this.root = mkdtempSync(join(tmpdir(), 'parley-bus-'));
    atEndOf(owner, () => rmSync(this.root, { recursive: true, force: true }));
  }

  inbox(agent: string): string {
    return join(this.root, agent, 'inbox');
  }

  /** Written beside its name, and then renamed. */
  write(folder: string, message: Wire): void {
    mkdirSync(this.inbox(folder), { recursive: true });
    const path = join(this.inbox(folder), `${message.msg_id}.json`);
    writeFileSync(`${path}.tmp`, JSON.stringify(message, null, 2));
    renameSync(`${path}.tmp`, path);
  }

  names(...folder: string[]): string[] {
    try {
      return readdirSync(join(this.root, ...folder)).filter((name) => name.endsWith('.json'));
    } catch {
      return [];
    }
  }

  /** What an agent does: reads its messages in the order of the bus, and deletes them. */
  take(agent: string): Wire[] {
    const messages = this.names(agent, 'inbox').map((name): Wire => {
      const path = join(this.inbox(agent), name);
      const message = JSON.parse(readFileSync(path, 'utf8'));
      rmSync(path);
      return message;
    });
    return messages.toSorted((a, b) => a.timestamp - b.timestamp || a.sequence - b.sequence);
  }
}

/** Ends the bridge at one of its steps, which are the changes of its folders and its calls. */
export class Killer {
  steps = 0;
  isDead = false;
  readonly #at: number;
  readonly #how: 'before' | 'half' | 'after';

  constructor(at: number, how: 'before' | 'half' | 'after') {
    this.#at = at;
    this.#how = how;
  }

  /** A dead process does nothing any more, not even what stands in its `finally`. */
  async step<T>(work: () => Promise<T>, half?: () => Promise<unknown>): Promise<T> {
    if (this.isDead) throw new Killed();
    const isHere = ++this.steps === this.#at;
    if (isHere && this.#how !== 'after') {
      if (this.#how === 'half') await half?.();
      this.isDead = true;
      throw new Killed();
    }
    const done = await work();
    if (!isHere) return done;
    this.isDead = true;
    throw new Killed();
  }
}

export class Killed extends Error {}

const killableDisk = (killer: Killer): Disk => ({
  ...disk,
  write: (path, text) =>
    killer.step(
      () => disk.write(path, text),
      () => disk.write(path, text.slice(0, text.length / 2)),
    ),
  makeFolder: (path) => killer.step(() => disk.makeFolder(path)),
  rename: (from, to) => killer.step(() => disk.rename(from, to)),
  remove: (path) => killer.step(() => disk.remove(path)),
  syncFolder: (path) => killer.step(() => disk.syncFolder(path)),
});

/** A bridge in this process, to a Parley in this process. */
export const testBridge = (
  parley: TestParley,
  bus: TestBus,
  { killer = new Killer(0, 'before'), agents, key }: { killer?: Killer; agents?: string[]; key?: string } = {},
) => {
  const notices: BridgeNotice[] = [];
  const call: typeof globalThis.fetch = (url, init) =>
    killer.step(async () => {
      const headers = Object.fromEntries(
        Object.entries(init?.headers ?? {}).map(([name, value]) => [name, `${value}`]),
      );
      const body = typeof init?.body === 'string' ? init.body : undefined;
      const target = String(url).slice('http://parley'.length);
      const reply = await parley.transport(init?.method ?? 'GET', target, headers, body);
      return new Response(reply.body === undefined ? null : JSON.stringify(reply.body), { status: reply.status });
    });
  const bridge = new FileBridge({
    parley: connect({ url: 'http://parley', key: key ?? 'an-admin-key-for-tests', retryFor: 0, fetch: call }),
    root: bus.root,
    agents,
    signal: new AbortController().signal,
    report: (notice) => notices.push(notice),
    disk: killableDisk(killer),
  });
  return { bridge, notices };
};

export const assertEach = (found: Wire[], expected: Wire[], what: string): void => {
  const list = (messages: Wire[]): string[] => messages.map(({ msg_id }) => String(msg_id)).toSorted();
  assert.deepEqual(list(found), list(expected), what);
};
