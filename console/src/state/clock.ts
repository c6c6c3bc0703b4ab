import { signal } from '@preact/signals';

/** Relative times and running bars follow it. */
export const now = signal(Date.now());
setInterval(() => {
  if (document.visibilityState === 'visible') now.value = Date.now();
}, 1000);
