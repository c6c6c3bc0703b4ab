import type { Ports } from '../shared/ports/ports.ts';
import type { BoundedAdmission } from './bounded-admission.ts';

export const wrapPortsForAdmission = (ports: Ports, admission: BoundedAdmission): Ports => ({
  ...ports,
  records: {
    ...ports.records,
    watch: (pk) => {
      const { next, close } = ports.records.watch(pk);
      return { next: (ms, signal) => admission.releaseWhileWaiting(() => next(ms, signal)), close };
    },
  },
  queues: {
    ...ports.queues,
    receive: (queueKeys, options) => {
      const receive = () => ports.queues.receive(queueKeys, options);
      return options.waitMs > 0 ? admission.releaseWhileWaiting(receive) : receive();
    },
  },
  events: {
    ...ports.events,
    waitForMore: (...args) => admission.releaseWhileWaiting(() => ports.events.waitForMore(...args)),
  },
});
