import type { Connection } from './connection.ts';
import type { Inbox } from './wire.ts';

export interface InboxReader {
  /** Call it before the request is sent: a fast result must find a waiter. */
  resultOf(taskId: string): Promise<void>;
}

export const inboxReader = (connection: Connection): InboxReader => {
  const waiting = new Map<string, () => void>();
  const readForever = async (): Promise<never> => {
    for (;;) {
      const inbox: Inbox = JSON.parse(await connection.call('GET', '/v1/inbox?max=100&wait=20', '', 200));
      if (inbox.messages.length === 0) continue;
      for (const { correlationId, type } of inbox.messages) {
        if (type !== 'task.result') throw new Error(`the task ${correlationId} ended with ${type}`);
        waiting.get(correlationId)?.();
        waiting.delete(correlationId);
      }
      const ids = inbox.messages.map(({ id }) => id);
      await connection.call('POST', '/v1/inbox/ack', JSON.stringify({ ids }), 200);
    }
  };
  readForever();
  return { resultOf: (taskId) => new Promise((resolve) => waiting.set(taskId, resolve)) };
};
