import { join } from 'node:path';
import { type JsonObject, ParleyError } from '../../sdk/typescript/src/index.ts';
import type { BridgeContext } from './bridge-context.ts';
import { toFileName } from './bus-folders.ts';
import { formatMessage, getText, isSameMessage, parseMessage } from './bus-message.ts';

/** Half of what the document allows, so that the bus has room for its own: at 100 it deletes the oldest. */
export const MAX_INBOX_FILES = 50;
const MAX_READ = 20;

/**
 * Reads the messages that wait for an agent, and writes them to its inbox. They are first written to a folder of the bridge, which is
 * renamed when it is whole; then acknowledged; then each is renamed into the inbox. Wherever this ends, `finishReceipt` goes on, and
 * what is not yet in a whole folder still waits in Parley.
 */
export const receiveMessages = async (
  bridge: BridgeContext,
  agent: string,
  waitSeconds: number,
): Promise<'received' | 'none' | 'full'> => {
  const { disk, folders, parley, signal } = bridge;
  await finishReceipt(bridge, agent);
  const inbox = await openInbox(bridge, agent);
  const room = MAX_INBOX_FILES - (await folders.listMessages(inbox)).length;
  if (room <= 0) return 'full';
  const query = { agent, claim: true, max: Math.min(room, MAX_READ), wait: waitSeconds };
  const options = { query, signal, waitMs: waitSeconds * 1000, retryForMs: 0 };
  const { messages } = await parley.call<{ messages: JsonObject[] }>('GET', '/v1/inbox', options);
  if (messages.length === 0) return 'none';
  const whole = join(folders.incoming, agent);
  const partial = `${whole}${PARTIAL}`;
  await disk.makeFolder(partial);
  for (const [index, message] of messages.entries()) {
    const name = `${String(index).padStart(3, '0')}~${toFileName(getText(message, 'msg_id'))}`;
    await disk.write(join(partial, name), formatMessage(message));
  }
  await disk.syncFolder(partial);
  await disk.rename(partial, whole);
  await disk.syncFolder(folders.incoming);
  await finishReceipt(bridge, agent);
  return 'received';
};

/** No agent has a dot in its id. */
const PARTIAL = '.new';

const finishReceipt = async (bridge: BridgeContext, agent: string): Promise<void> => {
  const { disk, folders, report } = bridge;
  const whole = join(folders.incoming, agent);
  await disk.remove(`${whole}${PARTIAL}`);
  const received: { path: string; name: string; message: JsonObject }[] = [];
  for (const name of (await folders.listMessages(whole)).toSorted()) {
    const path = join(whole, name);
    const message = parseMessage(await disk.readText(path));
    if (!message) throw new Error(`${path} is damaged. Move it away: what it held was acknowledged, or is read again.`);
    received.push({ path, name: name.slice(name.indexOf('~') + 1), message });
  }
  if (received.length > 0) {
    const inbox = await openInbox(bridge, agent);
    await acknowledge(
      bridge,
      agent,
      received.map(({ message }) => message),
    );
    for (const { path, name, message } of received) {
      const target = await folders.findFreeName(inbox, name, async (existing) => {
        const other = (await disk.inspect(existing))?.isFile ? parseMessage(await disk.readText(existing)) : undefined;
        return other !== undefined && isSameMessage(other, message);
      });
      await disk.rename(path, target);
      report({ kind: 'received', message });
    }
    await disk.syncFolder(inbox);
  }
  await disk.remove(whole);
};

/** An id that several messages have is named once for each, so that it means all of them. */
const acknowledge = async ({ parley, signal }: BridgeContext, agent: string, messages: JsonObject[]): Promise<void> => {
  const send = (ids: string[]): Promise<unknown> =>
    parley.call('POST', '/v1/inbox/ack', { body: { ids, agent }, signal, retryForMs: 0 });
  try {
    await send(messages.map((message) => getText(message, 'msg_id')));
  } catch (error) {
    if (!(error instanceof ParleyError) || error.code !== 'ambiguous_id') throw error;
    // Another reader has seen more under the same id.
    for (const message of messages) await acknowledgeOne(send, message);
  }
};

const acknowledgeOne = async (send: (ids: string[]) => Promise<unknown>, message: JsonObject): Promise<void> => {
  try {
    await send([getText(message, 'msg_id')]);
  } catch (error) {
    if (!(error instanceof ParleyError) || error.code !== 'ambiguous_id') throw error;
    const { messages } = error.problem;
    const alike = Array.isArray(messages) ? (messages as JsonObject[]) : [];
    const from = getText(message, 'from').toLowerCase();
    const oldest = alike.find((one) => one.from === from && isSameTime(one.timestamp, message.timestamp));
    if (typeof oldest?.id === 'string') await send([oldest.id]);
  }
};

/** The bus has seconds. */
const isSameTime = (iso: unknown, written: unknown): boolean =>
  Math.floor(Date.parse(String(iso)) / 1000) ===
  (typeof written === 'number' ? written : Math.floor(Date.parse(String(written)) / 1000));

/** The folder of the agent, as the bus has made it. */
const openInbox = async ({ disk, folders }: BridgeContext, agent: string): Promise<string> => {
  const names = (await folders.findAgentFolders()).get(agent) ?? [];
  const inbox = folders.getInbox(names.find((name) => name === agent) ?? names[0] ?? agent);
  await disk.makeFolder(inbox);
  return inbox;
};
