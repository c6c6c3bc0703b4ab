import { parleyFor, Refused, setting } from './parley.ts';

const parley = parleyFor(setting('PARLEY_URL'), setting('AGENT'), setting('KEY'));

/** A command as it came, with the card of its arguments. */
interface Command {
  headers: Record<string, string>;
  payload: { tool_call_id: string; agent_turn_id: string; tool_call_card_id: string; after_execution?: string };
}

const EXPRESSION = /^\s*(-?\d+(?:\.\d+)?)\s*([-+*/])\s*(-?\d+(?:\.\d+)?)\s*$/;

const calculated = (expression: string): number => {
  const [, a, operator = '', b] = EXPRESSION.exec(expression) ?? [];
  const [left, right] = [Number(a), Number(b)];
  const results: Record<string, number> = {
    '+': left + right,
    '-': left - right,
    '*': left * right,
    '/': left / right,
  };
  const value = results[operator];
  if (value === undefined || !Number.isFinite(value)) throw new Error(`"${expression}" has no result`);
  return value;
};

/** Carries out one command and reports to the turn that waits for it. A report counts once, however often it is sent. */
const serve = async ({ headers, payload }: Command): Promise<void> => {
  const { content } = await parley.call('GET', `/v1/cards/${payload.tool_call_card_id}`);
  const outcome = attempt(() => ({ value: calculated(String(content?.args?.expression)) }));
  const tool_result_card_id = await parley.card('tool.result', { tool_call_id: payload.tool_call_id, ...outcome });
  const { tool_call_card_id: _card, after_execution = 'suspend', ...call } = payload;
  await parley.call(
    'POST',
    `/v1/turns/${payload.agent_turn_id}/reports`,
    { ...call, after_execution, status: outcome.status, tool_result_card_id },
    { 'CG-Recursion-Depth': headers['CG-Recursion-Depth'] ?? '0', traceparent: headers.traceparent ?? '' },
  );
  console.log(`${payload.tool_call_id}: ${outcome.status}`);
};

const attempt = (calculate: () => object) => {
  try {
    return { status: 'success', result: calculate() };
  } catch (error) {
    return { status: 'failed', result: null, error: error instanceof Error ? error.message : String(error) };
  }
};

console.log(`${parley.agent} waits for commands`);
for (;;) {
  const { tasks } = await parley.call('POST', '/v1/claims', { wait: 20 });
  for (const { message } of tasks) {
    await serve(message).catch((error) => {
      if (!(error instanceof Refused)) throw error;
      // The turn is over, or never was: nobody waits for this any more.
      console.error(error.message);
    });
  }
}
