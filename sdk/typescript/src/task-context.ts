import { type Artifact, encodeArtifact } from './artifact.ts';
import { TaskAborted } from './errors.ts';
import type { Evidence } from './extensions.ts';
import type { Json, JsonObject } from './json.ts';
import type { MessageGatherer } from './message-gatherer.ts';
import { buildRequest, RequestHandle, type RequestOptions } from './request.ts';
import { isStandardSchema, parseWith, type StandardSchema, toJsonSchema } from './schema.ts';
import type { ClaimedTask } from './task.ts';
import type { Transport } from './transport.ts';

/** What a handler can do for its task while it works on it. */
export class TaskContext {
  readonly taskId: string;
  readonly attempt: number;
  /** Aborted when the work counts for nothing any more; its reason is a `TaskAborted`. */
  readonly signal: AbortSignal;
  /** Results of the tasks that this one waited for, by their id, or by the name of their node in a graph. */
  readonly dependencies: Readonly<Record<string, Json>>;
  readonly #claimed: ClaimedTask;
  readonly #transport: Transport;
  readonly #messages: MessageGatherer;
  readonly #abort: AbortController;
  readonly #artifacts = new Map<string, Artifact>();
  #confidence: number | undefined;
  #evidence: Partial<Omit<Evidence, 'confidence'>> | undefined;
  readonly #uses = new Map<string, number>();

  constructor(
    claimed: ClaimedTask,
    dependencies: Readonly<Record<string, Json>>,
    transport: Transport,
    messages: MessageGatherer,
    abort: AbortController,
  ) {
    this.taskId = claimed.message.id;
    this.attempt = claimed.attempt;
    this.signal = abort.signal;
    this.dependencies = dependencies;
    this.#claimed = claimed;
    this.#transport = transport;
    this.#messages = messages;
    this.#abort = abort;
  }

  /** Tells the requester how far the work is, and renews the lease. */
  async progress(percent: number, message?: string): Promise<void> {
    this.signal.throwIfAborted();
    const { taskId, attempt } = this;
    await this.#messages.send({
      kind: 'progress',
      taskId,
      attempt,
      percent,
      ...(message !== undefined && { message }),
    });
  }

  /**
   * Runs a function once in the life of the task: its result is kept with the task, and every later attempt gets it back. The
   * function should be safe to repeat, because a worker can die between its end and the write.
   */
  async step<T>(name: string, run: () => T | Promise<T>): Promise<T> {
    const key = this.#toKey(name);
    const known = await this.#readStep(key);
    if (known !== undefined) return known.value as T;
    this.signal.throwIfAborted();
    const value = ((await run()) ?? null) as Json;
    this.signal.throwIfAborted();
    return (await this.#keepStep(key, value)) as T;
  }

  /**
   * Asks the requester, and ends the attempt until the answer is there: then the handler runs again, on any worker, and this call
   * returns the answer at once. What comes before it should stand in steps.
   */
  async ask<T = Json>(prompt: string, schema?: StandardSchema<T> | JsonObject): Promise<T> {
    const key = this.#toKey('ask');
    const known = await this.#readStep(key);
    if (known !== undefined) {
      return isStandardSchema(schema) ? parseWith(schema, known.value, 'The answer') : (known.value as T);
    }
    this.signal.throwIfAborted();
    const { taskId, attempt } = this;
    const jsonSchema = isStandardSchema(schema) ? toJsonSchema(schema) : schema;
    const question = { kind: 'question', taskId, attempt, prompt, step: key, requeue: true as const };
    await this.#messages.send(jsonSchema ? { ...question, schema: jsonSchema } : question);
    this.#abort.abort(new TaskAborted('suspended', taskId));
    // The handler goes on in another attempt.
    return new Promise<never>(() => {});
  }

  /** Requests a subtask and waits for its result: the same subtask, however often the handler runs. */
  async call<T = Json>(capability: string, input: Json = {}, options: CallTaskOptions = {}): Promise<T> {
    const { name = capability, ...request } = options;
    const key = this.#toKey(`call ${name}`);
    const known = await this.#readStep(key);
    if (known !== undefined) return known.value as T;
    this.signal.throwIfAborted();
    const id = await deriveId(this.taskId, key);
    const message = buildRequest(capability, input, { ...request, id, parent: this.taskId });
    const accepted = this.#messages.send(message);
    const handle = new RequestHandle<Json>(id, accepted, this.#transport);
    return (await this.#keepStep(key, await handle.result({ signal: this.signal }))) as T;
  }

  /** A file that goes with the result. The requester gets it from `handle.artifact(name)`. */
  attach(artifact: Artifact): void {
    this.#artifacts.set(artifact.name, artifact);
  }

  /** How sure the result is, from 0 to 1, for protocols that have a word for it. */
  setConfidence(confidence: number): void {
    this.#confidence = confidence;
  }

  /** What the result rests on, for protocols in which every answer names its sources. */
  setEvidence(evidence: Partial<Omit<Evidence, 'confidence'>>): void {
    this.#evidence = evidence;
  }

  /** What goes with the result. */
  describeResult(): JsonObject {
    const artifacts = [...this.#artifacts.values()].map(encodeArtifact);
    return {
      ...(this.#evidence && { evidence: this.#evidence as JsonObject }),
      ...(artifacts.length > 0 && { artifacts }),
      ...(this.#confidence !== undefined && { confidence: this.#confidence }),
    };
  }

  /** Names may repeat, in loops: each use has a place of its own. */
  #toKey(name: string): string {
    const plain = name.replaceAll('.', '/');
    const uses = (this.#uses.get(plain) ?? 0) + 1;
    this.#uses.set(plain, uses);
    return uses === 1 ? plain : `${plain} ${uses}`;
  }

  async #readStep(key: string): Promise<{ value: Json } | undefined> {
    const { steps = {} } = this.#claimed;
    const kept = Object.hasOwn(steps, key) ? steps[key] : undefined;
    if (kept === undefined) return undefined;
    if (kept.bytes === undefined) return { value: kept.value ?? null };
    return this.#transport.call('GET', this.#stepPath(key), { signal: this.signal });
  }

  async #keepStep(key: string, value: Json): Promise<Json> {
    const body = { value, attempt: this.attempt };
    const kept = await this.#transport.call<{ value: Json }>('PUT', this.#stepPath(key), { body, signal: this.signal });
    return kept.value;
  }

  #stepPath(key: string): string {
    return `/v1/tasks/${encodeURIComponent(this.taskId)}/steps/${encodeURIComponent(key)}`;
  }
}

export interface CallTaskOptions extends Omit<RequestOptions, 'id' | 'parent'> {
  /** Of the step; by default the capability. */
  name?: string;
}

/** The same for the same step of the same task, and no other's. */
const deriveId = async (taskId: string, key: string): Promise<string> => {
  const bytes = new TextEncoder().encode(JSON.stringify(['step', taskId, key]));
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
  const hex = [...digest.subarray(0, 16)].map((byte) => byte.toString(16).padStart(2, '0')).join('');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20)}`;
};
