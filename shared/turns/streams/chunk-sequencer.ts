import { ParleyError } from '../../kernel/errors.ts';
import { computeFingerprint } from '../../kernel/json/fingerprint.ts';
import type { Chunk, ReceivedChunk } from './chunk.ts';

/**
 * How far a reader is: the newest chunk in the order of arrival, and the last index of the step that it was told of last. A chunk of
 * another step that was waiting for an earlier one when the reader left is lost to it.
 */
export interface StreamPosition {
  key: string;
  step?: string;
  index?: number;
}

export const STREAM_START: StreamPosition = { key: '0' };

/** The id of a step may be any text, and a position is sent in a header. */
const computeStepTag = (step: string): string => computeFingerprint(step).slice(0, 8);

export const formatStreamPosition = ({ key, step, index }: StreamPosition): string =>
  step === undefined || index === undefined ? key : `${key}~${step}~${index}`;

/** The key of a chunk, or the beginning; and the step and index of the last that was told. */
const STREAM_POSITION_PATTERN = /^(0|\d{14}-\d{6}-[\w-]{4})(?:~([\w-]{8})~(\d{1,16}))?$/;

/** Those of instances that keep chunks. */
export const CLOCK_SKEW_MS = 2000;

export const getPositionTime = ({ key }: Pick<StreamPosition, 'key'>): number => Number(key.slice(0, 14));

export const parseStreamPosition = (text: string, now: number): StreamPosition => {
  const [, key, step, index] = STREAM_POSITION_PATTERN.exec(text) ?? [];
  if (key === undefined || getPositionTime({ key }) > now + CLOCK_SKEW_MS) {
    throw new ParleyError('invalid_request', 'Last-Event-ID is not one that the stream gave. Begin without.');
  }
  return step === undefined ? { key } : { key, step, index: Number(index) };
};

export interface OrderedChunk {
  chunk: Chunk;
  /** Where to go on behind it. */
  position: StreamPosition;
}

/** A chunk that arrived before an earlier one of its step waits for that one so long, and then goes on without it. */
export const REORDER_TIMEOUT_MS = 500;

/**
 * Brings the chunks of a turn into order: those of a step by their index, those without one as they arrived. Each is told once; one
 * that comes after its turn has passed is dropped.
 */
export class ChunkSequencer {
  readonly #from: StreamPosition;
  #position: StreamPosition;
  readonly #seen = new Map<string, number>();
  /** The next index of each step. */
  readonly #expected = new Map<string, number>();
  #held: ReceivedChunk[] = [];

  constructor(from: StreamPosition) {
    this.#from = from;
    this.#position = from;
    if (from.step !== undefined) this.#expected.set(from.step, (from.index ?? -1) + 1);
  }

  /** What can be told now that these have arrived. */
  push(arrived: ReceivedChunk[], now: number): OrderedChunk[] {
    const fresh = arrived.filter((one) => this.#isNew(one));
    for (const { key, at } of fresh) this.#seen.set(key, at);
    const ordered: OrderedChunk[] = [];
    for (const one of fresh) this.#accept(one, ordered);
    for (let late = this.#findOverdue(now); late; late = this.#findOverdue(now)) {
      this.#expected.set(computeStepTag(late.chunk.step_id), late.chunk.index ?? 0);
      this.#flushReady(ordered);
    }
    return ordered;
  }

  /** When one that is held must be told, whatever else arrives. */
  get dueAt(): number | undefined {
    return this.#held.length === 0 ? undefined : Math.min(...this.#held.map(({ at }) => at)) + REORDER_TIMEOUT_MS;
  }

  /** Forgets those that cannot be read again, because a reader begins behind them. */
  forgetBefore(before: number): void {
    for (const [key, at] of this.#seen) if (at < before) this.#seen.delete(key);
  }

  #isNew({ key, chunk: { step_id, index } }: ReceivedChunk): boolean {
    if (this.#seen.has(key)) return false;
    if (key > this.#from.key) return true;
    // It arrived before the last one that was told: only a higher index of the same step has not been told.
    return index !== undefined && computeStepTag(step_id) === this.#from.step && index > (this.#from.index ?? 0);
  }

  #accept(one: ReceivedChunk, ordered: OrderedChunk[]): void {
    const { step_id, index } = one.chunk;
    if (index === undefined) {
      this.#emit(one, ordered);
      return;
    }
    const expected = this.#expected.get(computeStepTag(step_id)) ?? 0;
    if (index < expected || this.#held.some(({ chunk }) => chunk.step_id === step_id && chunk.index === index)) return;
    this.#held.push(one);
    this.#flushReady(ordered);
  }

  #flushReady(ordered: OrderedChunk[]): void {
    for (let ready = this.#findReady(); ready; ready = this.#findReady()) {
      this.#held = this.#held.filter((one) => one !== ready);
      this.#expected.set(computeStepTag(ready.chunk.step_id), (ready.chunk.index ?? 0) + 1);
      this.#emit(ready, ordered);
    }
  }

  #findReady(): ReceivedChunk | undefined {
    return this.#held.find(({ chunk }) => chunk.index === (this.#expected.get(computeStepTag(chunk.step_id)) ?? 0));
  }

  /** Of the step whose patience is over, the one with the lowest index. */
  #findOverdue(now: number): ReceivedChunk | undefined {
    const late = this.#held.find(({ at }) => at + REORDER_TIMEOUT_MS <= now);
    const sameStep = this.#held.filter(({ chunk }) => chunk.step_id === late?.chunk.step_id);
    return sameStep.toSorted((a, b) => (a.chunk.index ?? 0) - (b.chunk.index ?? 0))[0];
  }

  #emit({ key, chunk }: ReceivedChunk, ordered: OrderedChunk[]): void {
    const { step_id, index } = chunk;
    const newest = key > this.#position.key ? key : this.#position.key;
    const last = index === undefined ? {} : { step: computeStepTag(step_id), index };
    this.#position = { ...this.#position, ...last, key: newest };
    ordered.push({ chunk, position: this.#position });
  }
}
