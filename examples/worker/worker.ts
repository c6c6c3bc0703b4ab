import { parleyFor, Refused, setting } from './parley.ts';

const parley = parleyFor(setting('PARLEY_URL'), setting('AGENT'), setting('KEY'));
/** The same lease again brings the same turn, so that a worker that died and was started again goes on where it was. */
const LEASE_ID = process.env.WORKER ?? `${parley.agent}-1`;
const TOOL = 'calculator';
const TOOL_TARGET = 'calculator';

/** A turn that this worker holds. Whoever loses it is refused with `stale_turn` on every further word, and must stop. */
interface Turn {
  agent_turn_id: string;
  turn_epoch: number;
  // biome-ignore lint/suspicious/noExplicitAny: rows are JSON; the message type says which fields there are
  inbox: any[];
}

/** What was asked, which may be anything. */
type Payload = { question?: unknown } | undefined;

const questionIn = (payload: Payload): string => String(payload?.question ?? '');

const work = async (turn: Turn): Promise<void> => {
  const [row] = turn.inbox;
  if (row.message_type === 'turn') await think(turn, row.payload);
  else await answer(turn, row);
};

/** First half: think, and ask for the tool. Every line may have been carried out before, by a worker that then died. */
const think = async (turn: Turn, payload: Payload): Promise<void> => {
  const question = questionIn(payload);
  await advance(turn, 'start');
  await say(turn, 'think', [`I have to work out ${question}.`]);
  const thought = await parley.card('agent.thought', {
    turn: turn.agent_turn_id,
    text: `The calculator knows ${question}.`,
  });
  await append(turn, thought);
  await advance(turn, 'step', { step_id: 'think', phase: 'planning' });
  // First wait, then call: what a fast tool says to a turn that does not wait for it would be lost.
  const waiting = [{ tool_call_id: callIdOf(turn), step_id: 'think' }];
  await advance(turn, 'suspend', { waiting, deadline_seconds: 120 });
  await callTool(turn, question);
  console.log(`${turn.agent_turn_id}: asked for ${question}`);
};

/** Second half: the tool has reported, or its time was over. */
const answer = async (turn: Turn, report: { status: string; tool_result_card_id: string }): Promise<void> => {
  const { content } = await parley.call('GET', `/v1/cards/${report.tool_result_card_id}`);
  const isKnown = report.status === 'success';
  const text = isKnown ? `It is ${content.result.value}.` : `I could not find out: ${content.error ?? report.status}.`;
  await say(turn, 'answer', text.split(/(?<= )/));
  const deliverable = await parley.card('task.deliverable', { turn: turn.agent_turn_id, text });
  const box = await append(turn, deliverable);
  await advance(turn, 'deliver', {
    status: isKnown ? 'success' : 'failed',
    deliverable_card_id: deliverable,
    output_box_id: box,
    error: isKnown ? undefined : text,
  });
  console.log(`${turn.agent_turn_id}: ${text}`);
};

const advance = ({ agent_turn_id, turn_epoch }: Turn, verb: string, body: object = {}) =>
  parley.call('POST', `/v1/turns/${agent_turn_id}/${verb}`, { turn_epoch, ...body });

/** Puts a card into the turn's output box, which is made by whoever comes first. */
const append = async ({ agent_turn_id, turn_epoch }: Turn, card: string): Promise<string> => {
  const box_id = `out-${agent_turn_id}`;
  await parley.call('POST', '/v1/boxes', { kind: 'output', box_id, agent_turn_id });
  await parley.call('POST', `/v1/boxes/${box_id}/append`, { cards: [card], turn_epoch });
  return box_id;
};

/** For whoever reads the stream of the turn; nothing depends on it. */
const say = ({ agent_turn_id }: Turn, step_id: string, pieces: string[]) => {
  const subject = `cg.v1r3.default.public.str.agent.${parley.agent}.chunk`;
  const messages = pieces.map((content, index) => ({
    subject,
    payload: { agent_turn_id, step_id, chunk_type: 'content', content, index },
  }));
  return parley.call('POST', '/v1/messages', { messages });
};

/** Made from the turn, so that the same call again is the same call. */
const callIdOf = ({ agent_turn_id }: Pick<Turn, 'agent_turn_id'>): string => `${agent_turn_id}-calculate`;

const callTool = async (turn: Omit<Turn, 'inbox'>, question: string): Promise<void> => {
  const tool_call_card_id = await parley.card('tool.call', { tool: TOOL, args: { expression: question } });
  const { agent_turn_id, turn_epoch } = turn;
  await parley.call('POST', '/v1/messages', {
    subject: `cg.v1r3.default.public.cmd.tool.${TOOL_TARGET}.execute`,
    payload: {
      tool_call_id: callIdOf(turn),
      agent_turn_id,
      turn_epoch,
      agent_id: parley.agent,
      tool_name: TOOL,
      tool_call_card_id,
    },
  });
};

/** A worker that died after it had suspended its turn may not have called the tool. Calling it once more does no harm. */
const callAgain = async (): Promise<void> => {
  const head = await parley.call('GET', `/v1/agents/${parley.agent}/head`);
  if (head.status !== 'suspended') return;
  const turn = await parley.call('GET', `/v1/turns/${head.active_agent_turn_id}`);
  const isWaiting = turn.waiting?.some(({ status }: { status: string }) => status === 'waiting');
  if (isWaiting) await callTool(turn, questionIn(turn.payload));
};

/** What to do about a refusal: a turn that was lost is somebody else's, or nobody's. */
const unlessLost = async (act: () => Promise<void>): Promise<void> => {
  try {
    await act();
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    console.error(error.message);
  }
};

console.log(`${parley.agent} waits for turns`);
for (;;) {
  await unlessLost(callAgain);
  const turn: Turn | undefined = await parley.call('POST', '/v1/turns/lease', { wait: 20, lease_id: LEASE_ID });
  if (turn) await unlessLost(() => work(turn));
}
