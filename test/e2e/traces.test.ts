import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { agentOsMessage, content, evidence } from '../support/agent-os-agent.ts';
import { about, taskRequest } from '../support/api.ts';
import { type Held, internal, madeCard, Worker } from '../support/ground.ts';
import { mrMessage } from '../support/message-routing.ts';
import { tfRequest } from '../support/task-format.ts';
import { deployment } from './deployment.ts';

const { agent, admin } = await deployment();
const speaking = (dialect: string) => ({ dialect, capabilities: [] });

const TRACE_ID = '0af7651916cd43dd8448eb211c80319c';
const SPAN_ID = 'b7ad6b7169203331';
const BAGGAGE = 'tenant=blue,city=K%C3%B6ln';
const CONTEXT = { conversationId: 'conversation-7', user: 'ada' };

const traceIdOf = (traceparent: string): string | undefined => traceparent.split('-')[1];
const spanOf = (traceparent: string): string | undefined => traceparent.split('-')[2];

const people = async () => ({
  tim: await agent('tim', speaking('task-format')),
  knight: await agent('knight', speaking('round-table')),
  brain: await agent('brain', speaking('agent-os')),
  coder: await agent('coder', { ...speaking('message-routing'), inbox: 'ends' }),
  cook: await agent('cook', speaking('task-format')),
});
type People = Awaited<ReturnType<typeof people>>;

/** The next task of an agent, which must be of the trace, with all that travels with it beside its message. */
const taken = async (who: keyof People, among: People, spans: Set<string | undefined>) => {
  const [task] = await among[who].claim({ wait: 20 });
  assert.ok(task, `${who} was given nothing`);
  const { message, traceparent, baggage, conversationId, user } = task;
  assert.equal(traceIdOf(traceparent), TRACE_ID, `the trace ends before ${who}`);
  assert.ok(!spans.has(spanOf(traceparent)), `${who} was given no span of its own`);
  spans.add(spanOf(traceparent));
  assert.deepEqual({ baggage, conversationId, user }, { baggage: BAGGAGE, ...CONTEXT }, who);
  return message;
};

const sent = async (reply: ReturnType<People['tim']['send']>): Promise<void> => {
  const { status, body } = await reply;
  assert.equal(status, 202, JSON.stringify(body));
};

describe('a trace', () => {
  it('goes through agents of every dialect that do nothing for it, with its baggage, conversation and user', async () => {
    const all = await people();
    const { tim, knight, brain, coder, cook } = all;
    const spans = new Set<string | undefined>([SPAN_ID]);
    const first = tfRequest({
      context: CONTEXT,
      routing: { target: knight.id },
      observability: { traceId: TRACE_ID, spanId: SPAN_ID, baggage: { tenant: 'blue', city: 'Köln' } },
    });
    await sent(tim.send(first));
    const byKnight = await taken('knight', all, spans);
    const second = taskRequest(knight.id, { to: brain.id, correlationId: byKnight.id });
    await sent(knight.send(second));
    const byBrain = await taken('brain', all, spans);
    assert.deepEqual(
      [byBrain.context.conversationId, byBrain.context.userId, byBrain.replyTo],
      [CONTEXT.conversationId, CONTEXT.user, byKnight.id],
    );
    const third = agentOsMessage('query', brain.id, coder.id, { replyTo: byBrain.id, context: undefined });
    await sent(brain.send(third));
    const byCoder = await taken('coder', all, spans);
    await sent(coder.send(mrMessage('task-delegation', coder.id, cook.id, { correlation_id: byCoder.msg_id })));
    const byCook = await taken('cook', all, spans);
    assert.deepEqual(byCook.observability, {
      traceId: TRACE_ID,
      spanId: [...spans].at(-1),
      baggage: { tenant: 'blue', city: 'Köln' },
    });
    const { conversationId, user } = byCook.context;
    assert.deepEqual({ conversationId, user }, CONTEXT);
    const parents = [byCook.id];
    for (let id = byCook.id; id !== undefined; ) {
      id = (await admin.call('GET', `/v1/tasks/${id}`)).body.parentTaskId;
      parents.push(id);
    }
    assert.deepEqual(parents.slice(2), [second.id, first.id, undefined]);

    await sent(cook.send({ id: byCook.id, status: 'completed', result: {} }));
    await sent(
      coder.send(
        mrMessage('result', coder.id, brain.id, { correlation_id: byCoder.msg_id, payload: { status: 'success' } }),
      ),
    );
    const answer = { replyTo: byBrain.id, payload: content({ done: 1 }), evidence: evidence() };
    await sent(brain.send(agentOsMessage('response', brain.id, knight.id, answer)));
    await sent(knight.send(about('task.result', knight.id, byKnight.id, { status: 'completed', result: {} })));
    for (const who of [tim, knight, brain, coder]) {
      const { body } = await who.call('GET', '/v1/inbox?wait=20');
      assert.equal(body.messages.length, 1);
      const [{ traceparent, baggage }] = body.traces;
      assert.deepEqual([traceIdOf(traceparent), baggage], [TRACE_ID, BAGGAGE]);
      if (who !== tim) continue;
      const [{ observability }] = body.messages;
      assert.deepEqual([observability.traceId, observability.baggage], [TRACE_ID, { tenant: 'blue', city: 'Köln' }]);
    }
  });

  const startedBy: Record<string, (merlin: Worker, held: Held, next: string) => Promise<object>> = {
    delegate: async (merlin, held, next) => {
      const args = { target_ref: next, instruction: 'go' };
      const card = await madeCard(merlin.agent, 'tool.call', { args });
      return internal('delegate', merlin.agent.id, held, 'c1', card);
    },
    fork_join: async (merlin, held, next) => {
      const args = { tasks: [{ target_strategy: 'reuse', target_ref: next, instruction: 'go' }] };
      const card = await madeCard(merlin.agent, 'tool.call', { args });
      return internal('fork_join', merlin.agent.id, held, 'c1', card);
    },
    'a tool call': async (merlin, { agent_turn_id, turn_epoch }, next) => ({
      subject: `cg.v1r3.default.public.cmd.tool.${next}.run`,
      payload: { tool_call_id: 'c1', agent_turn_id, turn_epoch, agent_id: merlin.agent.id },
    }),
  };
  for (const [what, start] of Object.entries(startedBy)) {
    it(`goes through a turn with ${what}, with its baggage, conversation and user, in whatever dialect`, async () => {
      const all = await people();
      const { tim, cook } = all;
      const merlin = new Worker(await agent('merlin', speaking('common-ground')));
      const kay = new Worker(await agent('kay', speaking('common-ground')));
      const headers = { 'CG-User-ID': CONTEXT.user, 'CG-Context-ID': CONTEXT.conversationId };
      for (const next of [cook, kay.agent]) {
        const request = tfRequest({
          context: CONTEXT,
          routing: { target: merlin.agent.id },
          observability: { traceId: TRACE_ID, spanId: SPAN_ID, baggage: { tenant: 'blue', city: 'Köln' } },
        });
        await sent(tim.send(request));
        const held = await merlin.take({ wait: 20 });
        assert.deepEqual(held.inbox[0].headers, headers);
        await merlin.ok(held, 'start');
        await merlin.suspend(held, ['c1']);
        await sent(merlin.agent.send(await start(merlin, held, next.id)));
        if (next === cook) {
          const { context } = await taken('cook', all, new Set([SPAN_ID]));
          assert.deepEqual([context?.conversationId, context?.user], [CONTEXT.conversationId, CONTEXT.user]);
        } else {
          const told =
            what === 'a tool call'
              ? (await kay.agent.claim({ wait: 20 }))[0].message.headers
              : (await kay.take({ wait: 20 })).inbox.map((row) => ({ ...row, ...row.headers }))[0];
          assert.deepEqual([traceIdOf(told.traceparent), told.baggage], [TRACE_ID, BAGGAGE]);
          assert.deepEqual([told['CG-User-ID'], told['CG-Context-ID']], [CONTEXT.user, CONTEXT.conversationId]);
        }
        await merlin.ok(held, 'stop');
      }
    });
  }

  it('of a subtask that names its own is its own, and what it does not name comes from its parent', async () => {
    const all = await people();
    const { tim, cook, knight } = all;
    const parent = tfRequest({
      routing: { target: cook.id },
      observability: { traceId: TRACE_ID, spanId: SPAN_ID, baggage: { tenant: 'blue' } },
    });
    await sent(tim.send(parent));
    assert.equal((await cook.claim({ wait: 20 })).length, 1);
    const own = 'a'.repeat(32);
    const child = tfRequest({ context: { parentTaskId: parent.id }, routing: { target: knight.id } });
    const headers = { traceparent: `00-${own}-${SPAN_ID}-01`, tracestate: 'vendor=1' };
    assert.equal((await cook.call('POST', '/v1/messages', child, headers)).status, 202);
    const [task] = await knight.claim({ wait: 20 });
    assert.deepEqual([traceIdOf(task.traceparent), task.tracestate, task.baggage], [own, 'vendor=1', 'tenant=blue']);
  });

  it('is inherited by subtasks that come in a batch', async () => {
    const all = await people();
    const { tim, cook, knight } = all;
    const parent = tfRequest({
      routing: { target: cook.id },
      observability: { traceId: TRACE_ID, spanId: SPAN_ID, baggage: { tenant: 'blue' } },
    });
    await sent(tim.send(parent));
    assert.equal((await cook.claim({ wait: 20 })).length, 1);
    const child = () => tfRequest({ context: { parentTaskId: parent.id }, routing: { target: knight.id } });
    assert.equal((await cook.call('POST', '/v1/batches', { tasks: [child()] })).status, 202);
    const [inBatch] = await knight.claim({ wait: 20 });
    assert.deepEqual([traceIdOf(inBatch.traceparent), inBatch.baggage], [TRACE_ID, 'tenant=blue']);
  });

  it('takes what W3C allows as baggage, and leaves out the rest', async () => {
    const { tim, knight } = await people();
    const members = Array.from({ length: 80 }, (_, n) => `k${n}=v`);
    const given: [string, string | undefined][] = [
      ['a=1;hop=2 , b = two ,c=%20', 'a=1;hop=2,b=two,c=%20'],
      ['no value, =1, sp ace=1, a=one two, b="x", ok=1', 'ok=1'],
      [members.join(','), members.slice(0, 64).join(',')],
      [`big=${'x'.repeat(8200)},small=1`, 'small=1'],
      ['', undefined],
    ];
    for (const [baggage, wanted] of given) {
      const request = tfRequest({ routing: { target: knight.id } });
      assert.equal((await tim.call('POST', '/v1/messages', request, { baggage })).status, 202);
      const [task] = await knight.claim({ wait: 20 });
      assert.equal(task.baggage, wanted, baggage.slice(0, 60));
    }
  });
});
