import { connect } from '../../sdk/typescript/src/index.ts';

/** Asks whether the gates are shut. It does not know that whoever looks after them is on NATS. */
const parley = connect();
const GATES = ['north', 'south', 'west'];
const EVERY_MS = 8000;

for (;;) {
  const gate = GATES[Math.floor(Math.random() * GATES.length)] ?? 'north';
  parley
    .request('check_gate', { gate })
    .result()
    .catch((error: Error) => console.error(`${gate}: ${error.message}`));
  await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
}
