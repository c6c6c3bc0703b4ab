import { setTimeout as pause } from 'node:timers/promises';
import type { TestAgent } from '../support/api.ts';

const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const SILENCE = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=';
const text = (value: string) => ({ type: 'text', text: value });
const image = { type: 'image', data: PIXEL, mimeType: 'image/png' };
const resource = (uri: string, mimeType: string, value: string) => ({
  type: 'resource',
  resource: { uri, mimeType, text: value },
});
const form = (name: string, type = 'string') => ({
  type: 'object',
  properties: { [name]: { type } },
  required: [name],
});

interface Claimed {
  message: { id: string; input: Record<string, unknown> };
  attempt: number;
  steps?: Record<string, { value: Record<string, unknown> }>;
}

type Tell = (percent: number) => Promise<unknown>;
type Work = (task: Claimed, tell: Tell) => unknown;

class Failure extends Error {}

/** Asks in the attempt that has no answer yet; the next one has it as a step. */
class Question extends Error {
  readonly step: string;
  readonly schema: object;

  constructor(step: string, prompt: string, schema: object) {
    super(prompt);
    this.step = step;
    this.schema = schema;
  }
}

const ask = (
  { steps = {} }: Claimed,
  step: string,
  prompt: string,
  field: string,
  type?: string,
): Record<string, unknown> => {
  const answered = steps[step];
  if (!answered) throw new Question(step, prompt, form(field, type));
  return answered.value;
};

/** The tools that the suite asks a server for, as capabilities of an agent: the whole way of a task is behind each. */
export const FIXTURES: Record<string, Work> = {
  test_simple_text: () => 'This is a simple text response for testing.',
  test_image_content: () => ({ content: [image] }),
  test_audio_content: () => ({ content: [{ type: 'audio', data: SILENCE, mimeType: 'audio/wav' }] }),
  test_embedded_resource: () => ({
    content: [resource('test://embedded-resource', 'text/plain', 'This is an embedded resource content.')],
  }),
  test_multiple_content_types: () => ({
    content: [
      text('Multiple content types test:'),
      image,
      resource('test://mixed-content-resource', 'application/json', '{"test":"data","value":123}'),
    ],
  }),
  test_error_handling: () => {
    throw new Failure('This tool intentionally returns an error for testing');
  },
  test_tool_with_progress: async (_, tell) => {
    for (const percent of [0, 50, 100]) {
      await tell(percent);
      await pause(1500);
    }
    return 'done';
  },
  test_input_required_result_elicitation: (task) =>
    `Hello, ${ask(task, 'user_name', 'What is your name?', 'name').name}!`,
  test_input_required_result_request_state: (task) =>
    `state-ok ${JSON.stringify(ask(task, 'confirm', 'Please confirm', 'ok', 'boolean'))}`,
  test_input_required_result_tampered_state: (task) =>
    JSON.stringify(ask(task, 'confirm', 'Please confirm', 'ok', 'boolean')),
  test_input_required_result_capabilities: (task) => JSON.stringify(ask(task, 'user_name', 'Your name?', 'name')),
  test_input_required_result_multi_round: (task) => {
    const { name } = ask(task, 'step1', 'Step 1: What is your name?', 'name');
    const { color } = ask(task, 'step2', 'Step 2: What is your favorite color?', 'color');
    return `${name} likes ${color}`;
  },
  test_logging_tool: () => 'logged nothing',
  test_streaming_elicitation: (task) => JSON.stringify(ask(task, 'user_name', 'Your name?', 'name')),
  test_custom_headers: ({ message }) => JSON.stringify(message.input),
  greet: ({ message }) => `Hello, ${message.input.name}!`,
  slow_compute: async ({ message }) => {
    await pause(Number(message.input.seconds) * 1000);
    return 'computed';
  },
  failing_job: async () => {
    await pause(1000);
    throw new Failure('It fails always.');
  },
  confirm_delete: (task) => `deleted: ${JSON.stringify(ask(task, 'confirm', 'Really?', 'confirm'))}`,
};

/** What they take, where that matters. */
export const FIXTURE_SCHEMAS = {
  test_custom_headers: {
    input: {
      type: 'object',
      properties: {
        region: { type: 'string', 'x-mcp-header': 'Region' },
        priority: { type: 'integer', 'x-mcp-header': 'Priority' },
        verbose: { type: 'boolean', 'x-mcp-header': 'Verbose' },
        query: { type: 'string' },
      },
    },
  },
};

/** Works until it is aborted. */
export const workAsFixture = async (agent: TestAgent, signal: AbortSignal): Promise<void> => {
  const running = new Set<Promise<void>>();
  while (!signal.aborted) {
    const tasks: Claimed[] = await agent.claim({ wait: 1, max: 10 });
    for (const task of tasks) {
      const done = perform(agent, task).finally(() => running.delete(done));
      running.add(done);
    }
  }
  await Promise.all(running);
};

const perform = async (agent: TestAgent, task: Claimed): Promise<void> => {
  const { message, attempt } = task;
  const about = { taskId: message.id, attempt };
  const work = FIXTURES[(message as unknown as { capability: string }).capability];
  try {
    const tell: Tell = (percent) => agent.send({ kind: 'progress', ...about, percent });
    await agent.send({ kind: 'result', ...about, output: await work?.(task, tell) });
  } catch (error) {
    if (error instanceof Question) {
      const { step, message: prompt, schema } = error;
      await agent.send({ kind: 'question', ...about, prompt, schema, step, requeue: true });
    } else {
      await agent.send({ kind: 'failure', ...about, code: 'failed', message: (error as Error).message });
    }
  }
};
