import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { TestAgent } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { type RelaySite, relaySite } from '../support/relay-site.ts';
import { type Kind, type Speaker, speakers, type Wire } from '../support/speakers.ts';

interface Heard {
  subject: string;
  /** As its dialect has it: CommonGround's with headers. */
  wire: Wire;
}

const shared: { site?: RelaySite } = {};
const heard: Heard[] = [];
const cleanUps: (() => unknown)[] = [];

before(async () => {
  const site = await relaySite({ after: (cleanUp) => cleanUps.push(cleanUp) });
  await site.relay();
  shared.site = site;
  site.client.subscribe('>', {
    callback: (_error, message) => {
      if (!message.headers?.has('Parley-Relay')) return;
      const { subject } = message;
      // What the relay itself consumes is heard once more.
      if (isKnown(`${subject} ${message.string()}`)) return;
      const body = message.json<Wire>();
      const headers = Object.fromEntries(message.headers.keys().map((name) => [name, message.headers?.get(name)]));
      heard.push({ subject, wire: subject.startsWith('cg.') ? { subject, headers, payload: body } : body });
    },
  });
  await site.client.flush();
});
after(async () => {
  for (const cleanUp of cleanUps) await cleanUp();
});

const known = new Set<string>();
const isKnown = (text: string): boolean => known.size === known.add(text).size;

const SUBJECTS: Record<string, string> = { 'round-table': 'roundtable.', 'common-ground': 'cg.' };

/** In its inbox, or on a subject of its dialect, where messages name the task or the agent. */
const listHeardBy = ({ id }: TestAgent, { dialect }: Speaker, names: string[]): Wire[] =>
  heard.flatMap(({ subject, wire }) => {
    if (subject === `parley.default.${id}.inbox`) return [wire];
    const prefix = SUBJECTS[dialect];
    if (prefix === undefined || !subject.startsWith(prefix)) return [];
    const isNamed = names.some((name) => [wire.id, wire.correlationId, wire.payload?.agent_turn_id].includes(name));
    return isNamed || subject.includes(`.agent.${id}.`) ? [wire] : [];
  });

let pairs = 0;

/** Both agents read what they are told on NATS, and nowhere else. */
const start = async (asking: Speaker, doing: Speaker) => {
  const { site } = shared;
  assert.ok(site);
  const number = ++pairs;
  const requester = await site.agent(`requester-${number}`, {
    dialect: asking.dialect,
    transport: 'nats',
    inbox: 'ends',
  });
  const worker = await site.agent(`worker-${number}`, { dialect: doing.dialect, transport: 'nats', inbox: 'ends' });
  const request = asking.request(requester.id, worker.id, { scope: 'daily' });
  const { status, body } = await requester.send(request);
  assert.equal(status, 202, JSON.stringify(body));
  const id: string = body.taskId ?? body.agentTurnId;
  const names = [id, asking.nameOf(id), doing.nameOf(id)];
  const hear = (reader: TestAgent, speaker: Speaker, kind: Kind): Promise<Wire> =>
    eventually(() => {
      const told = listHeardBy(reader, speaker, names);
      const found = told.filter((wire) => speaker.kindOf(wire) === kind);
      assert.equal(found.length, 1, `${kind} in ${JSON.stringify(told)}`);
      return found[0];
    });
  const take = async (): Promise<string> => {
    const turn = doing.dialect === 'common-ground' ? await eventually(() => lease(doing, worker)) : undefined;
    const taken = turn ?? (await eventually(() => listHeardBy(worker, doing, names)[0] ?? assert.fail('no task')));
    return doing.calledIn(taken);
  };
  return {
    requester,
    worker,
    id,
    talk: { from: worker, to: requester.id, taskId: await take() },
    say: async (message: object) => {
      const reply = await doing.say(worker, message);
      assert.equal(reply.status, 202, JSON.stringify(reply.body));
    },
    hearAsRequester: (kind: Kind) => hear(requester, asking, kind),
    hearAsWorker: (kind: Kind) => hear(worker, doing, kind),
    answers: () => listHeardBy(worker, doing, names).slice(1),
  };
};

const lease = async (doing: Speaker, worker: TestAgent): Promise<Wire> =>
  (await doing.take(worker)) ?? assert.fail('no turn');

const PAIRS = speakers.flatMap((asking) =>
  speakers.filter((doing) => doing !== asking).map((doing): [Speaker, Speaker] => [asking, doing]),
);

/** What fails for good in the words of a worker. Message Routing and CommonGround have none of their own. */
const FAILURES: Record<string, string> = {
  'round-table': 'invalid_params',
  'agent-os': 'SAFETY_VIOLATION',
  'message-routing': 'failure',
  a2a: 'refused',
};

/** Whose failure says that the task itself is wrong. */
const REFUSERS = ['round-table', 'a2a'];

/** On NATS an event of CommonGround says no more than its document has. */
const readFailure = (asking: Speaker, failure: Wire) => {
  if (asking.dialect !== 'common-ground') return asking.readFailure(failure);
  const { error, error_code } = failure.payload;
  return { text: error, code: error_code, retryable: false };
};

describe('on NATS, a task', { concurrency: 4 }, () => {
  for (const [asking, doing] of PAIRS) {
    const pair = `from ${asking.dialect} to ${doing.dialect}`;

    it(`${pair} tells its requester that it failed, and its holder that it is cancelled`, async () => {
      const failing = await start(asking, doing);
      await failing.say(doing.fail(failing.talk, FAILURES[doing.dialect] ?? 'broken', 'it broke', 0));
      const failure = readFailure(asking, await failing.hearAsRequester('failure'));
      assert.deepEqual([failure.text, failure.retryable], ['it broke', false]);
      if (!REFUSERS.includes(doing.dialect)) assert.doesNotMatch(failure.code, /invalid|validation/i);
      const cancelled = await start(asking, doing);
      await cancelled.say(doing.progress(cancelled.talk, 50, 'half'));
      assert.equal((await cancelled.requester.call('POST', `/v1/tasks/${cancelled.id}/cancel`)).status, 200);
      await cancelled.hearAsWorker('cancel');
    });

    if (doing.ask) {
      it(`${pair} brings the question of its holder to its requester, and the answer back`, async () => {
        const { requester, worker, id, talk, say, hearAsRequester, answers } = await start(asking, doing);
        await say(doing.progress(talk, 10, 'reading'));
        await say(doing.ask?.(talk, 'How many?') ?? {});
        const question = await hearAsRequester('question');
        assert.deepEqual(asking.readQuestion(question), { from: worker.id, text: 'How many?' });
        const answer = asking.answer?.({ from: requester, to: worker.id, taskId: id }, question, 'Four.');
        const reply = answer
          ? await requester.send(answer)
          : await requester.call('POST', `/v1/tasks/${id}/input`, { input: 'Four.' });
        assert.equal(reply.status, 202, JSON.stringify(reply.body));
        const read = await eventually(() => answers()[0] ?? assert.fail('no answer'));
        assert.deepEqual(doing.readAnswer?.(read), asking.answerOf?.('Four.') ?? 'Four.');
        await say(doing.complete(talk, {}));
        await hearAsRequester('result');
      });
    }
  }
});
