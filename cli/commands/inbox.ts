import type { InboxMessage } from '../../sdk/typescript/src/index.ts';
import { type Command, getNumber, getText } from '../command.ts';
import { connectFrom, isAdminKey } from '../connection.ts';
import { toPlainText } from '../output.ts';
import { resolveConnection } from '../profiles.ts';

const summarize = ({ output, message, prompt, content, answer }: InboxMessage): string =>
  toPlainText(JSON.stringify(output ?? message ?? prompt ?? content ?? answer ?? '')).slice(0, 80);

const inbox: Command = {
  name: 'inbox',
  summary: 'Read the inbox of an agent',
  options: {
    agent: '<agent> whose, with an admin key',
    dialect: '<dialect> in which the messages are shown (native)',
    max: '<n> how many (20)',
    ack: 'acknowledge what is shown',
  },
  examples: ['parley inbox --agent tim', 'parley inbox --ack --json'],
  run: async ({ options, out }) => {
    const agent = isAdminKey(resolveConnection(options)) ? getText(options, 'agent') : undefined;
    const query = {
      agent,
      dialect: getText(options, 'dialect') ?? 'native',
      max: getNumber(options, 'max') ?? 20,
      mode: options.ack ? 'take' : undefined,
    };
    const { messages } = await connectFrom(options).call<{ messages: InboxMessage[] }>('GET', '/v1/inbox', { query });
    if (query.dialect !== 'native') {
      out.json(messages);
      return;
    }
    out.table(
      messages,
      [
        { title: 'kind', value: ({ kind }) => kind },
        { title: 'from', value: ({ from }) => from },
        { title: 'id', value: ({ taskId, id }) => taskId ?? id },
        { title: 'content', value: summarize },
      ],
      'The inbox is empty.',
    );
  },
};

export { inbox };
