import { signal } from '@preact/signals';

/** As in the style sheet. */
const query = matchMedia('(max-width: 760px)');
const isNarrow = signal(query.matches);
query.addEventListener('change', () => {
  isNarrow.value = query.matches;
});

export const useNarrow = (): boolean => isNarrow.value;
