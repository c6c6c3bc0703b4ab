import { ParleyError } from '../../kernel/errors.ts';
import { computeFingerprint } from '../../kernel/json/fingerprint.ts';
import type { Chunk, ReceivedChunk } from './chunk.ts';

/**
 * The newest chunk by arrival, and the last index of its step. A held chunk of another step is lost when the reader
 * leaves.
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

/** A chunk key or the start, with step and index. */
const STREAM_POSITION_PATTERN = /^(0|\d{14}-\d{6}-[\w-]{4})(?:~([\w-]{8})~(\d{1,16}))?$/;

/** Between instances that append chunks. */
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
  /** The position after it. */
  position: StreamPosition;
}

/** A chunk waits for earlier ones of its step for this long. */
export const REORDER_TIMEOUT_MS = 500;

/** Orders chunks by index within a step, otherwise by arrival. Each is emitted once; a late one is dropped. */
export class ChunkSequencer {
  readonly #from: StreamPosition;
  #position: StreamPosition;
  readonly #seen = new Map<string, number>();
  readonly #expected = new Map<string, number>();
  #held: ReceivedChunk[] = [];

  constructor(from: StreamPosition) {
    this.#from = from;
    this.#position = from;
    if (from.step !== undefined) this.#expected.set(from.step, (from.index ?? -1) + 1);
  }

  /** Chunks that can be emitted now. */
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

  /** When a held chunk must be emitted. */
  get dueAt(): number | undefined {
    return this.#held.length === 0 ? undefined : Math.min(...this.#held.map(({ at }) => at)) + REORDER_TIMEOUT_MS;
  }

  /** Readers start after them. */
  forgetBefore(before: number): void {
    for (const [key, at] of this.#seen) if (at < before) this.#seen.delete(key);
  }

  #isNew({ key, chunk: { step_id, index } }: ReceivedChunk): boolean {
    if (this.#seen.has(key)) return false;
    if (key > this.#from.key) return true;
    // It arrived before the last emitted chunk: only a higher index of that step is new.
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

  /** The lowest index of an overdue step. */
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
