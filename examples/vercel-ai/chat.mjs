import { createMCPClient } from '@ai-sdk/mcp';
import { generateText, stepCountIs } from 'ai';
import { scriptedModel } from './scripted-model.mjs';

/** A chat of the AI SDK whose tools are the agents of Parley: it finds them through MCP, and calls one. */
const { PARLEY_URL = 'http://127.0.0.1:4100', PARLEY_KEY = '' } = process.env;
const [topic = 'tides'] = process.argv.slice(2);

const headers = { authorization: `Bearer ${PARLEY_KEY}` };
const client = await createMCPClient({ transport: { type: 'http', url: `${PARLEY_URL}/mcp`, headers } });
try {
  const { text } = await generateText({
    model: scriptedModel('research', { topic }),
    tools: await client.tools(),
    stopWhen: stepCountIs(3),
    prompt: `What is known about ${topic}?`,
  });
  process.stdout.write(`${text}\n`);
} finally {
  await client.close();
}
