import type { IconName } from '../ui/icons.tsx';

export interface Destination {
  path: string;
  label: string;
  icon: IconName;
  /** Pressed after `g`. */
  letter: string;
}

export const DESTINATIONS: Destination[][] = [
  [
    { path: '', label: 'Overview', icon: 'overview', letter: 'o' },
    { path: 'for-you', label: 'For you', icon: 'person', letter: 'y' },
    { path: 'submit', label: 'Submit', icon: 'send', letter: 's' },
  ],
  [
    { path: 'tasks', label: 'Tasks', icon: 'tasks', letter: 't' },
    { path: 'dead-letters', label: 'Dead letters', icon: 'dead', letter: 'd' },
    { path: 'graphs', label: 'Graphs and batches', icon: 'graph', letter: 'g' },
    { path: 'turns', label: 'Turns', icon: 'turn', letter: 'u' },
    { path: 'schedules', label: 'Schedules', icon: 'calendar', letter: 'c' },
  ],
  [
    { path: 'agents', label: 'Agents', icon: 'agent', letter: 'a' },
    { path: 'queues', label: 'Queues', icon: 'queue', letter: 'q' },
    { path: 'map', label: 'Map', icon: 'map', letter: 'm' },
  ],
  [
    { path: 'webhooks', label: 'Webhooks', icon: 'webhook', letter: 'w' },
    { path: 'events', label: 'Events', icon: 'events', letter: 'e' },
    { path: 'violations', label: 'Violations and gaps', icon: 'shield', letter: 'v' },
  ],
];
