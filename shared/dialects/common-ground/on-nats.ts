import type { OnNats } from '../../relay/on-nats.ts';
import type { Stream } from '../../relay/plan.ts';
import { carriedIn } from './carried.ts';
import { type Category, subjectPattern, VERSION } from './subject.ts';

const DAY_SECONDS = 86_400;

const stream = (category: Category, maxAgeSeconds: number): Stream => ({
  name: `cg_${category}_${VERSION}`,
  subjects: [subjectPattern({ category })],
  retention: 'limits',
  storage: 'file',
  maxAgeSeconds,
});

const CMD = stream('cmd', DAY_SECONDS);
const EVT = stream('evt', 7 * DAY_SECONDS);

/** CommonGround on its own subjects: commands and events in JetStream, `str` on core NATS. */
export const onNats: OnNats = {
  streams: [CMD, EVT],
  described: async () => (await import('./described.ts')).described,
  // A task is a turn, unless it is a command to a tool, which is published as it was sent.
  leases: (carried) => carriedIn(carried).subject === undefined,
  // Events are Parley's own to tell, and not taken from others.
  sources: (project) => [
    { stream: CMD.name, durable: `parley-${project}-cg-cmd`, filter: subjectPattern({ project, category: 'cmd' }) },
    { filter: subjectPattern({ project, category: 'str' }) },
  ],
  owns: (subject) => subject.startsWith('cg.'),
  outgoing: ({ subject, headers, payload }) =>
    typeof subject === 'string'
      ? { subject, headers: textsIn(headers), payload: payload ?? {}, core: isStr(subject) ? true : undefined }
      : undefined,
  incoming: ({ subject, headers }, payload) => ({ subject, headers, payload }),
};

const isStr = (subject: string): boolean => subject.split('.')[4] === 'str';

const textsIn = (headers: unknown): Record<string, string> =>
  Object.fromEntries(
    Object.entries(typeof headers === 'object' && headers !== null ? headers : {})
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => [name, String(value)]),
  );
