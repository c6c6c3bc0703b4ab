import { computed, signal } from '@preact/signals';

/** Addresses are behind a `#`, so that any server, proxy or bucket can serve the page. */
const readAddress = (): string => location.hash.replace(/^#\/?/, '');
const address = signal(readAddress());
addEventListener('hashchange', () => {
  address.value = readAddress();
});

const decode = (step: string): string => {
  try {
    return decodeURIComponent(step);
  } catch {
    return step;
  }
};

export const steps = computed(() => (address.value.split('?')[0] ?? '').split('/').filter(Boolean).map(decode));
export const params = computed(() => new URLSearchParams(address.value.split('?')[1] ?? ''));
/** Changes with the page, and not with its filters. */
export const place = computed(() => steps.value.join('/'));

type Params = Record<string, string | undefined>;

export const href = (path: readonly string[], query: Params = {}): string => {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined && value !== '') search.set(name, value);
  const text = search.toString();
  return `#/${path.map(encodeURIComponent).join('/')}${text === '' ? '' : `?${text}`}`;
};

export const go = (to: string): void => {
  location.hash = to;
};

/** A filter changes the address without a new entry in the history for each letter. */
export const setParams = (change: Params): void => {
  const next: Params = { ...Object.fromEntries(params.peek()), ...change };
  history.replaceState(null, '', href(steps.peek(), next));
  address.value = readAddress();
};

export const replace = (to: string): void => {
  history.replaceState(null, '', to);
  address.value = readAddress();
};
