import type { EgressSource } from '../../relay/egress-source.ts';
import { createParleyApi } from '../../relay/parley-api.ts';
import { startRelay } from '../../relay/relay.ts';
import type { Priority, ReceivedMessage } from '../../shared/ports/queues.ts';

const [natsUrl = '', address = '', payload = ''] = process.argv.slice(2);
let left = 0;
let wake = Promise.withResolvers<void>();
const lane = (priority: Priority) => ({ project: 'bench', kind: 'relay' as const, name: 'down', priority });

const source: EgressSource = {
  receive: async (priority, _waitMs, signal) => {
    if (priority !== 'normal' || left === 0) {
      const ended = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
      await Promise.race([wake.promise, ended]);
      if (priority !== 'normal') await ended;
      return [];
    }
    const size = Math.min(10, left);
    return Array.from({ length: size }, (): ReceivedMessage => {
      const id = String(left--);
      const publish = { subject: `bench.down.${id}`, payload: { text: payload }, id };
      return { queueKey: lane(priority), group: id, receipt: id, body: { at: Date.now(), publish } };
    });
  },
  delete: async () => {},
  release: async () => {},
};

const relay = await startRelay({
  nats: { servers: natsUrl },
  api: createParleyApi(address, () => 'key'),
  source: () => source,
  log: (level, message) => level === 'error' && console.error(message),
});
process.send?.('ready');
process.on('message', ({ down }: { down: number }) => {
  left = down;
  wake.resolve();
  wake = Promise.withResolvers();
});
process.on('SIGTERM', async () => {
  await relay.stop();
  process.exit(0);
});
