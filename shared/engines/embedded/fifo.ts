/** Compacting at 1,024 empty places moves each element at most twice. */
const COMPACT_AT = 1024;

/** `Array.shift` is O(n) on long arrays. */
export class Fifo<T> {
  #items: (T | undefined)[] = [];
  #front = 0;

  get size(): number {
    return this.#items.length - this.#front;
  }

  push(item: T): void {
    this.#items.push(item);
  }

  shift(): T | undefined {
    if (this.size === 0) return undefined;
    const item = this.#items[this.#front];
    this.#items[this.#front] = undefined;
    this.#front += 1;
    if (this.#front >= COMPACT_AT && this.#front * 2 >= this.#items.length) {
      this.#items = this.#items.slice(this.#front);
      this.#front = 0;
    }
    return item;
  }
}
