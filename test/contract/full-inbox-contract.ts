import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import config from '../../parley.config.ts';
import { createGuardedSender } from '../../shared/engines/outbound/guarded-sender.ts';
import { createDirectory } from '../../shared/identity/agents/directory.ts';
import type { Deps } from '../../shared/identity/deps.ts';
import { generateId } from '../../shared/kernel/ids.ts';
import { parseTrace } from '../../shared/kernel/trace.ts';
import { sendDirectMessage } from '../../shared/messaging/direct-messages/send-direct-message.ts';
import { getInboxDepth } from '../../shared/messaging/inbox/bounded-inbox.ts';
import { readInbox } from '../../shared/messaging/inbox/read-inbox.ts';
import type { DirectMessageCommand } from '../../shared/model/command.ts';
import { systemClock } from '../../shared/ports/clock.ts';
import { Registration, registerAgent } from '../../shared/registration/register-agent.ts';
import { eventually } from '../support/eventually.ts';
import { type Open, unique } from './engine-under-test.ts';

const LIMIT = 40;
const PATIENCE_MS = 60_000;

const opened = async (t: TestContext, open: Open) => {
  const { ports } = await open(t);
  const project = unique('p');
  const clock = systemClock;
  const directory = createDirectory(ports.records, clock);
  const httpSender = createGuardedSender({ allowsPrivate: false });
  const deps: Deps = {
    httpSender,
    ...ports,
    clock,
    config,
    directory,
    log: () => {},
    recordMetric: () => {},
    newId: generateId,
  };
  await registerAgent(deps, project, 'reader', Registration.parse({ dialect: 'message-routing', inboxLimit: LIMIT }));
  const known = await directory.getAgent(project, 'reader');
  assert.ok(known);
  const send = (id: string) => {
    const message: DirectMessageCommand = {
      kind: 'directMessage',
      messageId: id,
      fingerprint: id,
      from: `sender-of-${id}`,
      to: 'reader',
      type: 'message-routing.status-update',
      priority: 'normal',
      content: { status: 'in_progress' },
      extensions: {},
    };
    const sending = { project, dialect: 'message-routing', trace: parseTrace(undefined, undefined), isVisible: true };
    // Whoever finds too many others in the way is asked to try again.
    return eventually(() => sendDirectMessage(deps, sending, message), PATIENCE_MS);
  };
  const read = async (take = false) =>
    (await readInbox(deps, known, { max: 100, waitMs: 0, isRemoving: take })).map(({ message }) => message);
  const depth = async () => {
    const found = await getInboxDepth(ports.records, known.agent);
    return [found?.count, found?.evicted];
  };
  return { send, read, depth };
};

/** The same on every engine: what a full inbox promises must not depend on who serialises whom. */
export const fullInboxContract = (name: string, open: Open): void => {
  describe(`an inbox with a limit, on ${name}`, () => {
    it('never holds more, nor gives up two for one, with fifty senders at once', async (t) => {
      const { send, read, depth } = await opened(t, open);
      const sent = Array.from({ length: 50 }, (_, index) => send(`m${index}`));
      assert.ok((await Promise.all(sent)).every(({ duplicate }) => !duplicate));
      assert.deepEqual(await depth(), [LIMIT, 50 - LIMIT]);
      await eventually(async () => assert.equal((await read()).length, LIMIT));
    });

    it('counts right while some send, some send again and some take', async (t) => {
      const { send, read, depth } = await opened(t, open);
      const taken = new Set<unknown>();
      const take = async () => {
        for (const { msg_id } of await read(true)) taken.add(msg_id);
      };
      const ids = Array.from({ length: 30 }, (_, index) => `m${index}`);
      await Promise.all([...ids.map(send), ...ids.slice(0, 10).map(send), take(), take(), take()]);
      const [count = 0, evicted = 0] = await depth();
      assert.equal(taken.size + count + evicted, 30);
      await eventually(async () => assert.equal((await read()).length, count));
    });
  });
};
