import { createInterface } from 'node:readline';
import type { Command } from '../command.ts';
import { getText } from '../command.ts';
import { McpProxy } from '../mcp-proxy.ts';
import { resolveConnection } from '../profiles.ts';

const mcp: Command = {
  name: 'mcp',
  summary: 'Serve MCP on standard input and output, for hosts without remote servers',
  options: { agent: '<agent> only the capabilities of this agent' },
  examples: ['parley mcp', 'PARLEY_KEY=prl_default.my-host.… parley mcp'],
  run: async ({ options, signal }) => {
    const { url, key } = resolveConnection(options);
    const agent = getText(options, 'agent');
    const address = new URL(agent === undefined ? '/mcp' : `/mcp/${encodeURIComponent(agent)}`, url);
    const proxy = new McpProxy(address, key, (message) => process.stdout.write(`${JSON.stringify(message)}\n`));
    const lines = createInterface({ input: process.stdin });
    signal.addEventListener('abort', () => lines.close());
    for await (const line of lines) {
      if (line.trim() !== '') proxy.accept(line);
    }
    await proxy.end(signal.aborted);
  },
};

export { mcp };
