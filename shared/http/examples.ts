import examples from './examples.json' with { type: 'json' };

export interface Example {
  params?: Record<string, string>;
  query?: Record<string, string>;
  body?: object;
  status: number;
  response?: unknown;
}

/** `test/http/examples/write-examples.ts` makes each call and writes it down. */
const EXAMPLES: Readonly<Record<string, Example>> = examples as Record<string, Example>;

export const findExample = (operationId: string): Example | undefined => EXAMPLES[operationId];
