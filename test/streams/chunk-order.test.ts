import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { ReceivedChunk } from '../../shared/turns/streams/chunk.ts';
import {
  ChunkSequencer,
  formatStreamPosition,
  type OrderedChunk,
  parseStreamPosition,
  REORDER_TIMEOUT_MS,
  STREAM_START,
  type StreamPosition,
} from '../../shared/turns/streams/chunk-sequencer.ts';

const NOW = 1_000_000;

/** Chunks in the order of their arrival, a millisecond apart: `[step, index]`, or a step alone. */
const arrived = (...chunks: ([step: string, index: number] | string)[]): ReceivedChunk[] =>
  chunks.map((one, number) => {
    const [step, index] = typeof one === 'string' ? [one, undefined] : one;
    const at = NOW + number;
    const content = `${step}${index ?? `@${number}`}`;
    const chunk = { agent_turn_id: 't', step_id: step, chunk_type: 'content', content, index };
    return { key: `${String(at).padStart(14, '0')}-000000-abcd`, at, chunk };
  });

const contents = (told: OrderedChunk[]): string[] => told.map(({ chunk }) => chunk.content);
const LATER = NOW + 10 * REORDER_TIMEOUT_MS;

describe('chunk order', () => {
  it('emits the chunks of a step by index, whatever their order of arrival', () => {
    fc.assert(
      fc.property(fc.shuffledSubarray([0, 1, 2, 3, 4, 5, 6, 7], { minLength: 8 }), fc.nat(8), (indexes, cut) => {
        const all = arrived(...indexes.map((index): [string, number] => ['a', index]));
        const order = new ChunkSequencer(STREAM_START);
        const told = [...order.push(all.slice(0, cut), NOW), ...order.push(all, NOW + 20)];
        assert.deepEqual(contents(told), ['a0', 'a1', 'a2', 'a3', 'a4', 'a5', 'a6', 'a7']);
      }),
    );
  });

  it('emits chunks without an index in order of arrival', () => {
    const all = arrived('a', 'b', 'a', ['b', 0], 'a');
    assert.deepEqual(contents(new ChunkSequencer(STREAM_START).push(all, NOW)), ['a@0', 'b@1', 'a@2', 'b0', 'a@4']);
  });

  it('emits the chunks of one step without waiting for another step', () => {
    const order = new ChunkSequencer(STREAM_START);
    assert.deepEqual(contents(order.push(arrived(['a', 1], ['b', 0]), NOW)), ['b0']);
  });

  it('waits for an earlier chunk until the timeout and then continues without it', () => {
    const order = new ChunkSequencer(STREAM_START);
    const all = arrived(['a', 0], ['a', 3], ['a', 2], ['a', 1]);
    assert.deepEqual(contents(order.push(all.slice(0, 3), NOW + 3)), ['a0']);
    assert.equal(order.dueAt, NOW + 1 + REORDER_TIMEOUT_MS);
    assert.deepEqual(order.push(all.slice(0, 3), NOW + REORDER_TIMEOUT_MS), []);
    assert.deepEqual(contents(order.push(all.slice(0, 3), NOW + 1 + REORDER_TIMEOUT_MS)), ['a2', 'a3']);
    assert.equal(order.dueAt, undefined);
    assert.deepEqual(order.push(all, LATER), [], 'too late');
  });

  it('starts a chunk sequence with the lowest index that arrived', () => {
    assert.deepEqual(contents(new ChunkSequencer(STREAM_START).push(arrived(['a', 8], ['a', 7]), LATER)), ['a7', 'a8']);
  });

  it('emits each chunk once although it is read again or sent twice', () => {
    const order = new ChunkSequencer(STREAM_START);
    const all = arrived(['a', 0], 'a', ['a', 0], ['a', 2], ['a', 2], ['a', 1]);
    const told = [...order.push(all, NOW), ...order.push(all, NOW), ...order.push(all, LATER)];
    assert.deepEqual(contents(told), ['a0', 'a@1', 'a1', 'a2']);
  });

  it('resumes a chunk sequence from any position without a gap and without a repetition', () => {
    const shuffled = fc.shuffledSubarray([0, 1, 2, 3, 4], { minLength: 5 });
    fc.assert(
      fc.property(shuffled, shuffled, fc.nat(13), (first, second, cut) => {
        // One step after the other, as an agent thinks.
        const all = arrived(
          ...first.map((index): [string, number] => ['a', index]),
          ...['b', 'b', 'b'],
          ...second.map((index): [string, number] => ['c', index]),
        );
        const whole = new ChunkSequencer(STREAM_START).push(all, LATER);
        const told = whole.slice(0, cut);
        const place: StreamPosition = told.at(-1)?.position ?? STREAM_START;
        const rest = new ChunkSequencer(parseStreamPosition(formatStreamPosition(place), LATER)).push(all, LATER);
        assert.deepEqual(contents([...told, ...rest]), contents(whole));
      }),
    );
  });

  it('formats positions that fit into a header and rejects any other position', () => {
    const [told] = new ChunkSequencer(STREAM_START).push(arrived(['any step: ü~', 0]), NOW);
    assert.ok(told);
    assert.match(formatStreamPosition(told.position), /^[\w~-]+$/);
    assert.deepEqual(parseStreamPosition(formatStreamPosition(told.position), NOW), told.position);
    for (const text of ['', 'a b', 'x~y', 'x~12345678~', 'x~12345678~y', `${'x'.repeat(65)}`]) {
      assert.throws(() => parseStreamPosition(text, NOW), { code: 'invalid_request' });
    }
  });
});
