import { MockLanguageModelV3 } from 'ai/test';

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

/** Calls the tool, then says what came of it. Put your model here. */
export const scriptedModel = (toolName, input) =>
  new MockLanguageModelV3({
    doGenerate: async ({ prompt, tools }) => {
      if (!tools?.some(({ name }) => name === toolName)) throw new Error(`there is no tool ${toolName}`);
      const last = prompt.at(-1);
      if (last?.role !== 'tool') {
        const call = { type: 'tool-call', toolCallId: 'call-1', toolName, input: JSON.stringify(input) };
        return { content: [call], finishReason: { unified: 'tool-calls' }, usage, warnings: [] };
      }
      const [{ output }] = last.content;
      const text = `The tool says: ${output.value.map((block) => block.text).join('')}`;
      return { content: [{ type: 'text', text }], finishReason: { unified: 'stop' }, usage, warnings: [] };
    },
  });
