import { signal } from '@preact/signals';
import { type Problem, toProblem } from '../api/problem.ts';
import { Icon } from './icons.tsx';

interface Toast {
  id: number;
  text: string;
  isBad: boolean;
}

const toasts = signal<Toast[]>([]);
let lastId = 0;
const SHOWN_MS = 5000;

export const tell = (text: string, isBad = false): void => {
  const id = ++lastId;
  toasts.value = [...toasts.value, { id, text, isBad }].slice(-4);
  setTimeout(() => {
    toasts.value = toasts.value.filter((one) => one.id !== id);
  }, SHOWN_MS);
};

/** Does what a button is for and says how it went. */
export const attempt = async <T,>(done: string | undefined, run: () => Promise<T>): Promise<T | Problem> => {
  try {
    const value = await run();
    if (done !== undefined) tell(done);
    return value;
  } catch (error) {
    const problem = toProblem(error);
    tell(problem.message, true);
    return problem;
  }
};

export const Toasts = () => (
  <div class="toasts" role="status" aria-live="polite">
    {toasts.value.map(({ id, text, isBad }) => (
      <div key={id} class={`toast ${isBad ? 'bad' : ''}`}>
        <Icon name={isBad ? 'dead' : 'check'} />
        {text}
      </div>
    ))}
  </div>
);
