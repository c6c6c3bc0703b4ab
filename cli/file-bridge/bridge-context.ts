import type { JsonObject, Parley } from '../../sdk/typescript/src/index.ts';
import type { BusFolders } from './bus-folders.ts';
import type { Disk } from './disk.ts';

export interface BridgeContext {
  parley: Parley;
  disk: Disk;
  folders: BusFolders;
  signal: AbortSignal;
  now(): number;
  report: (notice: BridgeNotice) => void;
  /** Whether the agent reads and writes files of this bus. */
  isLocal(agent: string): boolean;
  /** Whether files in the inbox of the agent are for Parley. */
  isRemote(agent: string): boolean;
}

/** What the bridge did, or why it waits. */
export type BridgeNotice =
  | { kind: 'sent' | 'duplicate' | 'received'; message: JsonObject; detail?: string }
  | { kind: 'rejected' | 'delayed' | 'waiting' | 'ready'; name: string; detail: string };
