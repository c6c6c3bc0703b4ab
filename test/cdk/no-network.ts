import { appendFileSync } from 'node:fs';
import { Socket } from 'node:net';

/** Loaded into a process before all else: whoever opens a connection is written down and gets an error. */
const file = process.env.CONNECTIONS_FILE;
if (file === undefined) throw new Error('CONNECTIONS_FILE is not set');

Socket.prototype.connect = function connect(...options: unknown[]) {
  appendFileSync(file, `${process.argv.join(' ')} → ${JSON.stringify(options)}\n`);
  throw new Error('there is no network');
};
