import { effect, signal } from '@preact/signals';

const STORED = 'parley-theme';
export type Theme = 'system' | 'light' | 'dark';
const ORDER: Theme[] = ['system', 'light', 'dark'];

const readStored = (): Theme => ORDER.find((one) => one === localStorage.getItem(STORED)) ?? 'system';
export const theme = signal<Theme>(readStored());

const systemDark = matchMedia('(prefers-color-scheme: dark)');
const isSystemDark = signal(systemDark.matches);
systemDark.addEventListener('change', () => {
  isSystemDark.value = systemDark.matches;
});

/** Charts are drawn with the colours of the moment. */
export const isDark = signal(false);

effect(() => {
  isDark.value = theme.value === 'dark' || (theme.value === 'system' && isSystemDark.value);
  document.documentElement.dataset.theme = theme.value;
  if (theme.value === 'system') localStorage.removeItem(STORED);
  else localStorage.setItem(STORED, theme.value);
});

export const switchTheme = (): void => {
  theme.value = ORDER[(ORDER.indexOf(theme.value) + 1) % ORDER.length] ?? 'system';
};
