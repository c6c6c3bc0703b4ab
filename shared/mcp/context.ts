import type { InternalApi } from './api.ts';
import type { McpCall } from './mcp-call.ts';

/** What a method of MCP may use. */
export interface McpContext {
  api: InternalApi;
  call: McpCall;
  /** At `/mcp/{agent}`: whom tools of capabilities give their work to. */
  agent: string | undefined;
  newId: () => string;
  /** A signature for the caller alone, which nobody outside can compute. */
  sign: (text: string) => Promise<string>;
  /** Whether notifications reach the client before the response does. */
  canStream: boolean;
  /** Fires when the client has gone or its key ended. */
  startWait: () => AbortSignal | undefined;
  /** The project's events from now on, as server-sent events. */
  streamEvents: (types: string[]) => AsyncGenerator<string>;
  taskRetentionMs: number;
}
