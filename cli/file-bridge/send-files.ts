import { join } from 'node:path';
import { ConnectionError, type JsonObject, ParleyError } from '../../sdk/typescript/src/index.ts';
import type { BridgeContext } from './bridge-context.ts';
import { AGENT_FOLDER, toFileName } from './bus-folders.ts';
import { getText, parseMessage } from './bus-message.ts';

/** The bus copies a message to the outbox of its sender after it has written it, and fails where it is gone by then. */
const COPY_MS = 10_000;
/** What writes without renaming may be in the middle of a file. */
const WRITING_MS = 2000;
/** No message is so large in any configuration; its end is not read. */
const MAX_BYTES = 2 * 1024 * 1024;
/** In one round, so that what waits in a folder of thousands is sent a part at a time. */
const MAX_TAKEN = 500;
/** Between attempts to send what Parley does not take now. */
const DELAY_MS = { first: 1000, most: 30_000 };

/** Of the pairs of agents whose messages Parley does not take now, when they are sent again. */
export type Delays = Map<string, { untilMs: number; ms: number }>;

/**
 * Takes the files for agents that are not on this bus, and sends them in the order in which they were written. A file is first moved
 * out of the inbox, then sent, then deleted: what was sent twice is a duplicate for Parley.
 */
export const sendFiles = async (bridge: BridgeContext, delays: Delays): Promise<void> => {
  await takeFiles(bridge);
  const { folders, now } = bridge;
  for (const name of (await folders.listMessages(folders.outgoing)).toSorted()) {
    if (bridge.signal.aborted) return;
    const pair = parsePair(name);
    const delay = delays.get(pair);
    if (delay && delay.untilMs > now()) continue;
    try {
      await sendFile(bridge, name);
      delays.delete(pair);
    } catch (error) {
      if (!(error instanceof ParleyError) || !isLater(error)) throw error;
      const ms = Math.min(DELAY_MS.most, (delay?.ms ?? DELAY_MS.first / 2) * 2);
      delays.set(pair, { untilMs: now() + ms, ms });
      bridge.report({ kind: 'delayed', name: pair, detail: `${describeError(error)} Sent again in ${ms / 1000} s.` });
    }
  }
};

const isLater = ({ status, retryable }: ParleyError): boolean => retryable || status === 429 || status >= 500;

const describeError = ({ message, code, issues }: ParleyError): string =>
  [`${message} (${code})`, ...issues.map(({ path, message: issue }) => `${path}: ${issue}`)].join('; ');

/**
 * The file of a message on its way: its place in the order, whose folder it was in, who sent it, and its name there. Files of one
 * tick of the system have the same time, so the time and the number that the sender wrote follow.
 */
const buildOutgoingName = (modifiedMs: number, message: JsonObject, to: string, name: string): string => {
  const from = getText(message, 'from');
  const { timestamp, sequence } = message;
  const written = typeof timestamp === 'number' ? timestamp * 1000 : Date.parse(String(timestamp));
  const place = [modifiedMs * 1000, written, sequence].map((part) => padNumber(Number(part))).join('-');
  const short = Buffer.byteLength(name) <= MAX_NAME_BYTES ? name : toFileName(`/${name}`);
  return [place, to, AGENT_FOLDER.test(from) ? from : '', short].join('~');
};

/** A name on Linux has 255 bytes: 52 are the place, 128 the agents. */
const MAX_NAME_BYTES = 70;

const padNumber = (value: number): string =>
  String(Number.isFinite(value) ? Math.min(Math.max(Math.trunc(value), 0), 9e15) : 0).padStart(16, '0');

const parsePair = (name: string): string => name.split('~').slice(1, 3).join(' → ').toLowerCase();

const omitPlace = (name: string): string => name.slice(name.indexOf('~') + 1);

const sendFile = async (bridge: BridgeContext, name: string): Promise<void> => {
  const { disk, folders } = bridge;
  const path = join(folders.outgoing, name);
  const facts = await disk.inspect(path);
  const isReadable = facts?.isFile && facts.bytes <= MAX_BYTES;
  const message = isReadable ? parseMessage(await disk.readText(path)) : undefined;
  if (!message) {
    const detail = isReadable ? 'The file is not a JSON object.' : 'This is not a file of at most 2 MB.';
    return rejectFile(bridge, name, { code: 'invalid_message', detail });
  }
  const from = getText(message, 'from');
  if (!bridge.isLocal(from)) {
    const detail = `${from === '' ? 'No sender' : from} is not an agent of this bridge. Register it with "profile": "cfn", or name it in --agents.`;
    return rejectFile(bridge, name, { code: 'unknown_agent', detail });
  }
  try {
    const accepted = await bridge.parley.call('POST', '/v1/messages', {
      body: message,
      headers: { 'parley-dialect': 'message-routing' },
      signal: bridge.signal,
      retryForMs: 0,
    });
    await disk.remove(path);
    const notices = Array.isArray(accepted.notices) ? accepted.notices.map(String) : [];
    bridge.report({ kind: accepted.duplicate === true ? 'duplicate' : 'sent', message, detail: notices.join(' ') });
  } catch (error) {
    if (error instanceof ConnectionError || !(error instanceof ParleyError)) throw error;
    if (isLater(error) || error.status === 401) throw error;
    await rejectFile(bridge, name, error.problem, describeError(error));
  }
};

/** Kept for whoever wants to see it, with the reason beside it. */
const rejectFile = async (
  { disk, folders, report }: BridgeContext,
  name: string,
  problem: JsonObject,
  detail = `${problem.detail} (${problem.code})`,
): Promise<void> => {
  const path = await folders.findFreeName(folders.rejected, omitPlace(name));
  await disk.write(path.replace(/json$/, 'problem'), `${JSON.stringify(problem, null, 2)}\n`);
  await disk.rename(join(folders.outgoing, name), path);
  report({ kind: 'rejected', name: path, detail });
};

const takeFiles = async (bridge: BridgeContext): Promise<void> => {
  const { folders } = bridge;
  const agents = await folders.findAgentFolders();
  const remote = [...agents].flatMap(([agent, names]) => (bridge.isRemote(agent) ? names : []));
  const inboxes = remote.map((name) => folders.getInbox(name));
  let taken = 0;
  for (const { folder, name } of await listByAge(bridge, inboxes)) {
    if (taken >= MAX_TAKEN || bridge.signal.aborted) return;
    if (await takeFile(bridge, agents, { to: remote[inboxes.indexOf(folder)] ?? '', folder, name })) taken++;
  }
};

const takeFile = async (
  { disk, folders, now }: BridgeContext,
  agents: Map<string, string[]>,
  { to, folder, name }: { to: string; folder: string; name: string },
): Promise<boolean> => {
  const path = join(folder, name);
  const facts = await disk.inspect(path);
  if (!facts) return false;
  const message = facts.isFile && facts.bytes <= MAX_BYTES ? parseMessage(await disk.readText(path)) : undefined;
  const from = message ? getText(message, 'from') : '';
  const age = now() - facts.modifiedMs;
  if (!message && age < WRITING_MS) return false;
  if (age < COPY_MS && !(await isCopied({ disk, folders }, agents.get(from.toLowerCase()) ?? [], name))) return false;
  await disk.rename(path, join(folders.outgoing, buildOutgoingName(facts.modifiedMs, message ?? {}, to, name)));
  return true;
};

const isCopied = async (
  { disk, folders }: Pick<BridgeContext, 'disk' | 'folders'>,
  senderFolders: string[],
  name: string,
): Promise<boolean> => {
  for (const folder of senderFolders) {
    const outbox = folders.getOutbox(folder);
    if ((await disk.inspect(outbox)) && !(await disk.inspect(join(outbox, name)))) return false;
  }
  return true;
};

const listByAge = async ({ disk, folders }: BridgeContext, from: string[]) => {
  const files: { folder: string; name: string; at: number }[] = [];
  for (const folder of from) {
    for (const name of await folders.listMessages(folder)) {
      const facts = await disk.inspect(join(folder, name));
      if (facts) files.push({ folder, name, at: facts.modifiedMs });
    }
  }
  return files.toSorted((a, b) => a.at - b.at || (a.name < b.name ? -1 : 1));
};
