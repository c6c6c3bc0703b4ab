import { connect } from '../../sdk/typescript/src/index.ts';

/** Asks for reports and tells when one is there. */
const parley = connect();
const TOPICS = ['dragons', 'tides', 'the grail', 'comets'];
const EVERY_MS = 9000;

for (;;) {
  const topic = TOPICS[Math.floor(Math.random() * TOPICS.length)] ?? 'tides';
  parley
    .request('intel.report', { topic }, { priority: 'high' })
    .result()
    .catch((error: Error) => console.error(`${topic}: ${error.message}`));
  await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
}
