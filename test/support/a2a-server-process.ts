import { a2aServer } from './a2a-server.ts';

/** The official server in a process of its own, which a test can kill. It says where it listens. */
const answers = process.env.ANSWERS === 'yes';
const server = await a2aServer({ after: () => {} }, ({ say }) => {
  say('WORKING', 'On it.');
  if (answers) return say('COMPLETED', 'Done after all.');
  return new Promise(() => {});
});
process.stdout.write(`${server.address}\n`);
