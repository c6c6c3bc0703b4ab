import { AckPolicy, jetstream, jetstreamManager } from '@nats-io/jetstream';
import { connect, nanos } from '@nats-io/transport-node';
import { setting } from '../worker/parley.ts';

/**
 * Works on-prem: it knows NATS and no HTTP. Tasks come on its own subject, and what it says goes to one subject for all. A task is
 * acknowledged when it is done, so that one whose worker died comes again.
 */
const agent = setting('AGENT');
const INBOX = `parley.default.${agent}.inbox`;
const SEND = 'parley.default.send';

const connection = await connect({ servers: setting('NATS_URL'), name: agent });
const manager = await jetstreamManager(connection);
const stream = await manager.streams.find(INBOX);
await manager.consumers.add(stream, {
  durable_name: agent,
  filter_subject: INBOX,
  ack_policy: AckPolicy.Explicit,
  ack_wait: nanos(30_000),
});
const messages = await (await jetstream(connection).consumers.get(stream, agent)).consume({ max_messages: 1 });
process.once('SIGTERM', () => messages.stop());

const send = (message: object) => jetstream(connection).publish(SEND, JSON.stringify({ from: agent, ...message }));
const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

for await (const message of messages) {
  const { kind, id: taskId, input } = message.json<{ kind: string; id: string; input?: { gate?: string } }>();
  if (kind === 'request') {
    await send({ kind: 'progress', taskId, percent: 50, message: 'On the wall' });
    await sleep(700);
    await send({ kind: 'result', taskId, output: { gate: input?.gate ?? 'all', isShut: Math.random() < 0.9 } });
  }
  message.ack();
}
await connection.drain();
