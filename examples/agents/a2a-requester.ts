import { parley, pick, readInbox, repeat, send } from './agent.ts';

/** Asks for the weather before it travels, in the words of A2A. */
void repeat(5000, () =>
  send({
    message: {
      messageId: crypto.randomUUID(),
      contextId: 'journey',
      role: 'ROLE_USER',
      parts: [{ text: `What is the weather in ${pick(['Camelot', 'Avalon', 'Cornwall'])}?` }],
      metadata: { parley: { capability: 'intel.weather' } },
    },
  }),
);
void readInbox();
console.log(`${parley.agent} is on the way`);
