import { setTimeout as pause } from 'node:timers/promises';
import type { TestAgent } from '../../support/api.ts';
import type { Random } from '../../support/hostile-ports.ts';
import type { Speaker, Wire } from '../../support/speakers.ts';
import { type Claimed, marksIn, type Reported, toTaskKey } from '../history.ts';
import { Over } from './insist.ts';
import { newMark, newUuid, pick, type World } from './world.ts';

/** Longer than a lease. */
const LATE_MS = 2200;
const MESSAGES: ReadonlySet<string> = new Set(['progress', 'failure', 'result']);
const STEPS = ['fetch', 'think'];

type Held = Claimed['tasks'][number] & { message: Wire };

/** One process of an agent: it claims, works, dawdles, fails, forgets what it holds, and goes on when it is too late. */
export class Worker {
  readonly #world: World;
  readonly #agent: TestAgent;
  readonly #speaker: Speaker;
  readonly #random: Random;

  constructor(world: World, agent: TestAgent, speaker: Speaker, number: number) {
    this.#world = world;
    this.#agent = agent;
    this.#speaker = speaker;
    this.#random = world.randomOf(`${agent.id} ${number}`);
  }

  async work(): Promise<void> {
    const late: Promise<void>[] = [];
    try {
      while (!this.#world.isOver) {
        const claim = {
          claimId: newUuid(this.#random),
          max: 1 + Math.floor(this.#random() * 3),
          wait: this.#world.waitSeconds,
        };
        const tasks = await this.#claim(claim);
        if (this.#random() < 0.15) await this.#claim(claim, true);
        late.push(...tasks.map((task) => this.#workOn(task)));
        await Promise.race([Promise.all(late.slice(-tasks.length)), pause(100)]);
      }
      await Promise.all(late);
    } catch (error) {
      if (!(error instanceof Over)) throw error;
    }
  }

  async #claim(claim: { claimId: string }, isAgain = false): Promise<Held[]> {
    const { recorder } = this.#world;
    const begun = recorder.tick();
    const { status, body } = await this.#agent.call('POST', '/v1/claims', claim);
    if (status !== 200) return [];
    const tasks: Held[] = body.tasks.map(({ message, attempt, steps = {} }: Wire) => ({
      task: toTaskKey(this.#speaker.calledIn(message)),
      attempt,
      marks: marksIn(message),
      steps: Object.fromEntries(Object.entries(steps).map(([name, step]) => [name, Object(step).value])),
      message,
    }));
    // A claim that was made again may have found what the first one found: whatever is new is worked on.
    recorder.add({
      kind: 'claimed',
      begun,
      agent: this.#agent.id,
      claimId: claim.claimId,
      tasks: tasks.map(({ message: _message, ...rest }) => rest),
    });
    return isAgain ? [] : tasks;
  }

  async #workOn(held: Held): Promise<void> {
    try {
      const random = this.#random;
      const isCalm = this.#world.isCalm;
      if (!isCalm && random() < 0.1) return;
      if (random() < 0.4) for (const name of STEPS) await this.#step(held, name);
      if (random() < 0.3) await this.#say(held, 'progress');
      if (!isCalm && random() < 0.2) await pause(LATE_MS);
      const fate = isCalm ? 1 : random();
      if (fate < 0.12) return await this.#say(held, 'failure');
      if (fate < 0.2) return await this.#release(held);
      await this.#say(held, 'result');
    } catch (error) {
      if (!(error instanceof Over)) throw error;
    }
  }

  async #step(held: Held, name: string): Promise<void> {
    if (name in held.steps) return;
    const path = `/v1/tasks/${this.#speaker.calledIn(held.message)}/steps/${name}`;
    // One whose answer was lost makes the step again, and gets another value.
    for (let times = this.#random() < 0.3 ? 2 : 1; times > 0; times--) await this.#putStep(held, name, path);
  }

  async #putStep(held: Held, name: string, path: string): Promise<void> {
    const value = { mark: newMark(this.#random) };
    await this.#report(held, 'step', async () => {
      const reply = await this.#agent.call('PUT', path, { value, attempt: held.attempt });
      return { ...reply, isNamed: true, step: { name, value, kept: reply.body?.value } };
    });
  }

  async #release(held: Held): Promise<void> {
    const path = `/v1/tasks/${this.#speaker.calledIn(held.message)}/release`;
    await this.#report(held, 'release', async () => ({
      ...(await this.#agent.call('POST', path, { attempt: held.attempt })),
      isNamed: true,
    }));
  }

  async #say(held: Held, what: 'progress' | 'failure' | 'result'): Promise<void> {
    const speaker = this.#speaker;
    const mark = newMark(this.#random);
    const talk = { from: this.#agent, to: this.#requesterOf(held), taskId: speaker.calledIn(held.message) };
    const said: Wire =
      what === 'progress'
        ? speaker.progress(talk, 10 * (1 + Math.floor(this.#random() * 9)), mark)
        : what === 'failure'
          ? speaker.fail(talk, pick(this.#random, ['model_error', 'rate_limited']), mark, held.attempt)
          : speaker.complete(talk, { mark });
    const isNamed = ['native', 'round-table'].includes(speaker.dialect) && this.#random() < 0.8;
    const message = isNamed ? withAttempt(speaker, said, held.attempt) : said;
    const send = async () => ({ ...(await speaker.say(this.#agent, message)), isNamed, mark });
    const isAccepted = await this.#report(held, what, send);
    if (isAccepted && this.#random() < 0.2) await this.#report(held, what, send, true);
  }

  #requesterOf({ message }: Held): string {
    return typeof message.from === 'string' ? message.from : (message.from?.agentId ?? '');
  }

  async #report(
    { task, attempt }: Held,
    what: Reported['what'],
    send: () => Promise<Pick<Reported, 'isNamed' | 'mark' | 'step'> & { status: number; body: Wire }>,
    isAgain = false,
  ): Promise<boolean> {
    const { recorder } = this.#world;
    const begun = recorder.tick();
    const { status, body, isNamed, mark, step } = await send();
    // A message names the task that it was found to be about.
    const isPlain = status < 300 && (body?.taskId === undefined || body.notices !== undefined) && MESSAGES.has(what);
    const isAccepted = status < 300 && !isPlain;
    recorder.add({
      kind: 'reported',
      begun,
      what,
      agent: this.#agent.id,
      task,
      attempt,
      isNamed,
      isAccepted,
      isDuplicate: body?.duplicate === true,
      ...(isPlain && { isPlain }),
      // A status update of Message Routing is answered alike, whether its task is still open or not.
      ...(what === 'progress' && this.#speaker.dialect === 'message-routing' && { isUnsure: true as const }),
      // Who has lost a task to another may not read it, and its release is answered as a stranger's.
      ...(status === 404 && what !== 'release' && { isUnknown: true as const }),
      ...(mark && { mark }),
      ...(step && { step }),
      ...(isAgain && { isAgain }),
    });
    return isAccepted;
  }
}

const withAttempt = ({ dialect }: Speaker, said: Wire, attempt: number): Wire =>
  dialect === 'native' ? { ...said, attempt } : { ...said, payload: { ...said.payload, attempt } };
