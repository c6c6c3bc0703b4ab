import type { IconName } from '../ui/icons.tsx';

export interface Destination {
  path: string;
  label: string;
  icon: IconName;
  /** Pressed after `g`. */
  letter: string;
}

export const DESTINATIONS: Destination[][] = [
  [{ path: '', label: 'Overview', icon: 'overview', letter: 'o' }],
  [{ path: 'tasks', label: 'Tasks', icon: 'tasks', letter: 't' }],
];
