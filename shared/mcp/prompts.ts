import * as z from 'zod';
import type { JsonObject } from '../kernel/json/json.ts';
import type { McpContext } from './context.ts';
import { invalidParamsError } from './rpc-error.ts';

interface Prompt {
  name: string;
  title: string;
  description: string;
  arguments: { name: string; description: string; required: boolean }[];
  write: (args: Record<string, string>) => string;
}

const PROMPTS: readonly Prompt[] = [
  {
    name: 'delegate',
    title: 'Delegate work',
    description: 'Give a piece of work to the agent that can do it, and bring back the result.',
    arguments: [
      { name: 'work', description: 'What is to be done', required: true },
      { name: 'capability', description: 'The capability that it needs', required: false },
    ],
    write: ({ work, capability }) =>
      [
        `Delegate this work through Parley: ${work}`,
        capability
          ? `Submit it with parley_submit to the capability ${capability}.`
          : 'Find a fitting capability with parley_agents, then submit it with parley_submit.',
        'Wait for the result with parley_wait. If the task asks a question, answer it with parley_answer, or ask me.',
        'Report the result, or why it failed.',
      ].join('\n'),
  },
  {
    name: 'work-loop',
    title: 'Work through the queue',
    description: 'Claim tasks, do them, and report, until none is left.',
    arguments: [{ name: 'capabilities', description: 'Only these capabilities, with commas between', required: false }],
    write: ({ capabilities }) =>
      [
        `Claim a task with parley_claim${capabilities ? ` (capabilities: ${capabilities})` : ''}. If none comes, stop.`,
        'Do what its input asks. While you work, report progress with parley_report, which also extends the lease.',
        'If you need to know something, ask with parley_ask and claim the next task: the answer comes with a later claim.',
        'End it with parley_report: a result, or a failure with a code and a message. Then claim the next one.',
      ].join('\n'),
  },
  {
    name: 'triage-dead-letters',
    title: 'Triage dead letters',
    description: 'Group the tasks that failed for good by cause, and retry those that may succeed.',
    arguments: [],
    write: () =>
      [
        'Read the resource parley://dead-letters, and group its tasks by error code and message.',
        'For each group, say what went wrong and whether a retry can succeed.',
        'Ask me before you retry any with parley_retry.',
      ].join('\n'),
  },
];

export const listPrompts = (): JsonObject => ({
  prompts: PROMPTS.map(({ write: _write, ...shown }) => shown) as unknown as JsonObject[],
});

const PromptParams = z.looseObject({ name: z.string(), arguments: z.record(z.string(), z.string()).default({}) });

export const getPrompt = ({ call }: McpContext): JsonObject => {
  const { success, data } = PromptParams.safeParse(call.params);
  const prompt = success ? PROMPTS.find(({ name }) => name === data.name) : undefined;
  if (!prompt) throw invalidParamsError('There is no such prompt. prompts/list has those of Parley.');
  const args = data?.arguments ?? {};
  const missing = prompt.arguments.find(({ name, required }) => required && !args[name]);
  if (missing) throw invalidParamsError(`The prompt ${prompt.name} needs the argument ${missing.name}.`);
  const { description } = prompt;
  return { description, messages: [{ role: 'user', content: { type: 'text', text: prompt.write(args) } }] };
};
