import { channel } from 'node:diagnostics_channel';
import { isMainThread } from 'node:worker_threads';

/** Loaded into every thread of a server: with these calls, the one that serves HTTP ends. */
const DEATHS: Record<string, () => void> = {
  '/bug': () => {
    throw new Error('a bug of its own');
  },
  '/exit': () => process.exit(0),
  '/memory': () => {
    for (const all: number[][] = []; ; ) all.push(new Array(100_000).fill(all.length));
  },
};

if (!isMainThread) {
  channel('http.server.request.start').subscribe((message) => {
    const { request } = Object(message);
    DEATHS[request.url]?.();
  });
}
