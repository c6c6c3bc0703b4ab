import { setTimeout as pause } from 'node:timers/promises';
import { type TestAgent, taskRequest } from '../../support/api.ts';
import type { Random } from '../../support/hostile-ports.ts';
import { type Speaker, speakers, type Wire } from '../../support/speakers.ts';
import { marksIn, type TaskKey, toTaskKey } from '../history.ts';
import { Over } from './insist.ts';
import { getTaskOfOutcome } from './outcomes.ts';
import { newMark, newUuid, pick, type World } from './world.ts';

export const CAPABILITY = 'security.briefing';
/** Nobody does this. */
const UNSERVED = 'home.status';
/** Turns have clients of their own. */
export const DIALECTS = speakers.filter(({ dialect }) => dialect !== 'common-ground');

interface Request {
  message: object;
  mark: string;
  dependency?: TaskKey;
  notBefore?: number;
}

/** Asks, repeats itself, changes its mind, and reads what became of it. */
export class Requester {
  readonly #world: World;
  readonly #agent: TestAgent;
  readonly #speaker: Speaker;
  readonly #random: Random;
  readonly #workers: readonly string[];
  /** Accepted, with the id that Parley gave it. */
  readonly #accepted: { request: Request; id: string }[] = [];

  constructor(world: World, agent: TestAgent, speaker: Speaker, workers: readonly string[]) {
    this.#world = world;
    this.#agent = agent;
    this.#speaker = speaker;
    this.#random = world.randomOf(agent.id);
    this.#workers = workers;
  }

  async ask(): Promise<void> {
    const request = this.#newRequest();
    const id = await this.#send(request);
    if (id === undefined) return;
    this.#accepted.push({ request, id });
    if (this.#random() < 0.15) await this.#send(pick(this.#random, this.#accepted).request, true);
    if (this.#random() < 0.1) await this.#cancel(id);
  }

  #newRequest(): Request {
    const random = this.#random;
    const { dialect } = this.#speaker;
    const mark = newMark(random);
    // Some are too large for the record.
    const input = { mark, text: 'x'.repeat(random() < 0.1 ? 6000 : 10) };
    if (dialect === 'round-table' && random() < 0.7) {
      const ttl = random() < 0.1 ? { ttl: 1, payload: { task: UNSERVED, params: input } } : {};
      return { mark, message: taskRequest(this.#agent.id, { payload: { task: CAPABILITY, params: input }, ...ttl }) };
    }
    if (dialect === 'native' && random() < 0.8) return this.#newNativeRequest(mark, input);
    return { mark, message: this.#speaker.request(this.#agent.id, pick(random, this.#workers), input) };
  }

  #newNativeRequest(mark: string, input: object): Request {
    const random = this.#random;
    const message = { kind: 'request', id: newUuid(random), capability: CAPABILITY, input };
    const earlier = this.#accepted.at(-1);
    const fate = random();
    if (fate < 0.1) return { mark, message: { ...message, capability: UNSERVED, ttlSeconds: 1 } };
    if (fate < 0.25) {
      const notBefore = Math.ceil((this.#world.system.now() + random() * 1500) / 1000) * 1000;
      return { mark, notBefore, message: { ...message, notBefore: new Date(notBefore).toISOString() } };
    }
    if (fate < 0.4 && earlier)
      return { mark, dependency: toTaskKey(earlier.id), message: { ...message, dependencies: [earlier.id] } };
    return { mark, message };
  }

  async #send({ message, mark, dependency, notBefore }: Request, isAgain = false): Promise<string | undefined> {
    const { recorder } = this.#world;
    const begun = recorder.tick();
    const { status, body } = await this.#agent.send(message);
    const id: string = body.taskId ?? body.id ?? '';
    recorder.add({
      kind: 'asked',
      begun,
      by: this.#agent.id,
      dialect: this.#speaker.dialect,
      task: toTaskKey(id),
      id,
      mark,
      isAccepted: status < 300,
      isDuplicate: body.duplicate === true,
      ...(isAgain && { isAgain }),
      ...(dependency && { dependency }),
      ...(notBefore && { notBefore }),
    });
    return status < 300 ? id : undefined;
  }

  async #cancel(id: string): Promise<void> {
    const { recorder } = this.#world;
    await pause(this.#random() * 200);
    const begun = recorder.tick();
    const { status } = await this.#agent.call('POST', `/v1/tasks/${id}/cancel`);
    recorder.add({ kind: 'cancelled', begun, task: toTaskKey(id), isAccepted: status < 300 });
  }

  read(): Promise<void> {
    return readInbox(this.#world, this.#agent, this.#speaker);
  }
}

/** Reads and acknowledges until everything is over. */
export const readInbox = async (world: World, agent: TestAgent, speaker: Speaker): Promise<void> => {
  const { recorder } = world;
  world.readers.push({ agent, speaker });
  try {
    while (!world.isOver) {
      const begun = recorder.tick();
      const { status, body } = await agent.call('GET', `/v1/inbox?max=20&wait=${world.waitSeconds}`);
      const messages: Wire[] = status === 200 ? body.messages : [];
      for (const message of messages)
        recorder.add({ kind: 'read', begun, agent: agent.id, ...describe(speaker, message) });
      if (messages.length === 0) continue;
      const ids = messages.map((message) => speaker.idIn(message));
      const acknowledging = recorder.tick();
      const reply = await agent.call('POST', '/v1/inbox/ack', { ids });
      if (reply.status === 200) recorder.add({ kind: 'acknowledged', begun: acknowledging, agent: agent.id, ids });
    }
  } catch (error) {
    if (!(error instanceof Over)) throw error;
  }
};

const describe = (
  speaker: Speaker,
  message: Wire,
): { id: string; what: 'outcome' | 'note' | 'other'; task?: TaskKey; marks: string[] } => {
  const id = speaker.idIn(message);
  const marks = marksIn(message);
  if (message.kind === 'message') return { id, what: 'note', marks };
  const task = getTaskOfOutcome(speaker.dialect, message);
  return task === undefined ? { id, what: 'other', marks } : { id, what: 'outcome', task: toTaskKey(task), marks };
};
