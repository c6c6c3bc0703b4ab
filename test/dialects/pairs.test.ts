import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { settled } from '../http/refusal.ts';
import { type Kind, type Speaker, speakers, type Wire } from '../support/speakers.ts';
import { type TestParley, testParley } from '../support/test-parley.ts';

const TRACE_ID = '0af7651916cd43dd8448eb211c80319c';
const traceparent = `00-${TRACE_ID}-b7ad6b7169203331-01`;
const baggage = 'tenant=acme';
const BELONGING = { conversationId: 'talk-7', user: 'user-7' };
const ARTIFACTS = [{ name: 'menu.md', type: 'text/markdown', content: '# Menu' }];

const toTraceId = (trace: string | undefined) => trace?.split('-')[1];

const shared: { parley?: TestParley } = {};
const cleanUps: (() => unknown)[] = [];
before(async () => {
  shared.parley = await testParley({ after: (cleanUp) => cleanUps.push(cleanUp) });
});
after(async () => {
  for (const cleanUp of cleanUps) await cleanUp();
});

let pairs = 0;

/** A task of one dialect for an agent of another, which has not been claimed yet. */
const start = async (asking: Speaker, doing: Speaker, inbox = 'ends') => {
  const { parley } = shared;
  assert.ok(parley);
  const number = ++pairs;
  const requester = await parley.agent(`requester-${number}`, { dialect: asking.dialect, inbox });
  const worker = await parley.agent(`worker-${number}`, { dialect: doing.dialect, inbox: 'ends' });
  const plain = asking.request(requester.id, worker.id, { scope: 'daily' });
  const request = asking.belongingTo?.(plain, BELONGING) ?? plain;
  const reply = await requester.call('POST', '/v1/messages', request, { traceparent, baggage });
  assert.equal(reply.status, 202, JSON.stringify(reply.body));
  await settled(parley);
  const id: string = reply.body.taskId ?? reply.body.agentTurnId;
  const say = async (speaker: Speaker, agent: typeof worker, message: object) => {
    const { status, body } = await speaker.say(agent, message);
    assert.equal(status, 202, JSON.stringify(body));
    await settled(parley);
  };
  /** What stands in the inbox, each with its trace, acknowledged. */
  const read = async (speaker: Speaker, agent: typeof worker): Promise<Wire[]> => {
    const { messages, traces } = (await agent.call('GET', '/v1/inbox')).body;
    for (const trace of traces) assert.deepEqual([toTraceId(trace.traceparent), trace.baggage], [TRACE_ID, baggage]);
    const ids = messages.map((message: Wire) => speaker.idIn(message));
    if (ids.length > 0) assert.equal((await agent.call('POST', '/v1/inbox/ack', { ids })).status, 200);
    assert.deepEqual(await agent.inbox(), []);
    return messages;
  };
  return {
    settle: () => settled(parley),
    requester,
    worker,
    id,
    name: request === undefined ? id : (Object(request).id ?? asking.nameOf(id)),
    state: async () => (await requester.task(id)).state,
    sayAs: (message: object) => say(doing, worker, message),
    readAsRequester: () => read(asking, requester),
    readAsWorker: () => read(doing, worker),
    claim: async () => {
      const claimed = await doing.claim(worker);
      assert.ok(claimed, 'there is no task');
      await settled(parley);
      return { ...claimed, talk: { from: worker, to: requester.id, taskId: doing.calledIn(claimed.message) } };
    },
  };
};

const kindsOf = (speaker: Speaker, messages: Wire[]): Kind[] => messages.map((message) => speaker.kindOf(message));

const PAIRS = speakers.flatMap((asking) =>
  speakers.filter((doing) => doing !== asking).map((doing): [Speaker, Speaker] => [asking, doing]),
);

describe('A task', { concurrency: 8 }, () => {
  for (const [asking, doing] of PAIRS) {
    const pair = `from ${asking.dialect} to ${doing.dialect}`;

    it(`${pair} says what it asks for, how urgent, until when, to what it belongs and in which trace`, async () => {
      const { requester, claim } = await start(asking, doing);
      const { message, beside } = await claim();
      assert.deepEqual(doing.readRequest(message), {
        ...asking.asked,
        from: requester.id,
        input: asking.inputOf?.({ scope: 'daily' }) ?? { scope: 'daily' },
      });
      assert.deepEqual([toTraceId(beside.traceparent), beside.baggage], [TRACE_ID, baggage]);
      if (!asking.belongingTo) return;
      const { conversationId, user } = beside;
      assert.deepEqual({ conversationId, user }, BELONGING);
      assert.deepEqual(doing.readBelonging?.(message) ?? BELONGING, BELONGING);
    });

    it(`${pair} tells its progress, and its result with its artifacts once`, async () => {
      const { requester, worker, id, name, claim, sayAs, readAsRequester } = await start(asking, doing);
      const { talk } = await claim();
      await sayAs(doing.progress(talk, 50, 'half'));
      const { body } = await requester.call('GET', `/v1/tasks/${id}?dialect=${asking.dialect}`);
      assert.deepEqual(asking.readProgress(body), { taskId: name, percent: 50, text: 'half' });
      const result = doing.complete(talk, { answer: 'Large.' });
      await sayAs(doing.withArtifacts?.(result, ARTIFACTS) ?? result);
      const told = await readAsRequester();
      assert.deepEqual(kindsOf(asking, told), ['result']);
      const { kind: _kind, ...end } = asking.readResult(told[0]);
      const output = doing.outputOf?.({ answer: 'Large.' }) ?? { answer: 'Large.' };
      assert.deepEqual(end, { taskId: name, from: worker.id, output });
      if (doing.withArtifacts) assert.deepEqual(asking.readArtifacts(told[0]), ARTIFACTS);
      assert.deepEqual(await readAsRequester(), []);
    });

    it(`${pair} tells each step of its life, to a requester that reads all in its inbox`, async () => {
      const { claim, sayAs, readAsRequester } = await start(asking, doing, 'all');
      const { talk } = await claim();
      await sayAs(doing.progress(talk, 50, 'half'));
      await sayAs(doing.complete(talk, {}));
      const told = kindsOf(asking, await readAsRequester()).toSorted();
      assert.deepEqual(told, ['claim', 'progress', 'result']);
    });

    it(`${pair} reads as cancelled in its holder's inbox, and in no other, if its requester cancels it`, async () => {
      const { requester, id, claim, state, settle, readAsWorker } = await start(asking, doing);
      await claim();
      assert.equal((await requester.call('POST', `/v1/tasks/${id}/cancel`)).status, 200);
      await settle();
      assert.equal(await state(), 'cancelled');
      assert.deepEqual(kindsOf(doing, await readAsWorker()), ['cancel']);
    });

    if (doing.ask) {
      it(`${pair} brings the question of its holder to its requester, and the answer back`, async () => {
        const { requester, worker, id, claim, sayAs, state, settle, readAsRequester, readAsWorker } = await start(
          asking,
          doing,
        );
        const { talk } = await claim();
        await sayAs(doing.ask?.(talk, 'How many?') ?? {});
        assert.equal(await state(), 'input_required');
        const told = await readAsRequester();
        assert.deepEqual(kindsOf(asking, told), ['question']);
        assert.deepEqual(asking.readQuestion(told[0]), { from: worker.id, text: 'How many?' });
        const answer = asking.answer?.({ from: requester, to: worker.id, taskId: id }, told[0], 'Four.');
        const reply = answer
          ? await requester.send(answer)
          : await requester.call('POST', `/v1/tasks/${id}/input`, { input: 'Four.' });
        assert.equal(reply.status, 202, JSON.stringify(reply.body));
        await settle();
        assert.equal(await state(), 'claimed');
        const answered = await readAsWorker();
        assert.equal(answered.length, 1);
        assert.deepEqual(doing.readAnswer?.(answered[0]), asking.answerOf?.('Four.') ?? 'Four.');
        await sayAs(doing.complete(talk, {}));
        assert.deepEqual(kindsOf(asking, await readAsRequester()), ['result']);
      });
    }
  }
});
