/** One set, drawn on 24 × 24 with one stroke. */
const PATHS = {
  overview: 'M4 13h6V4H4zM14 20h6V11h-6zM14 7h6V4h-6zM4 20h6v-3H4z',
  person: 'M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM5 20a7 7 0 0 1 14 0',
  tasks: 'M9 6h11M9 12h11M9 18h11M4.5 6h.01M4.5 12h.01M4.5 18h.01',
  graph:
    'M6 8.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5zM18 14.500a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5zM6 20.500a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5zM8.3 7l7.4 4M8.3 17l7.4-4',
  turn: 'M20 12a8 8 0 1 1-2.5-5.800M20 3v4.500h-4.5',
  agent:
    'M6 9h12a2 2 0 0 1 2 2v6a2 2 0 0 1-2 2H6a2 2 0 0 1-2-2v-6a2 2 0 0 1 2-2zM12 9V5M9 14h.01M15 14h.01M10.5 4.500h3',
  queue: 'M4 7h16M4 12h10M4 17h6M18 12v6M15.5 15.5 18 18l2.5-2.5',
  dead: 'M12 8v5M12 16.500h.01M10.3 4.3 3 17a2 2 0 0 0 1.7 3h14.600a2 2 0 0 0 1.7-3L13.7 4.300a2 2 0 0 0-3.4 0z',
  events: 'M3 12h4l3-8 4 16 3-8h4',
  shield: 'M12 3l7 3v5c0 4.5-3 8-7 10-4-2-7-5.5-7-10V6z',
  send: 'M21 3 10.5 13.500M21 3l-6.5 18-4-7.500L3 9.500z',
  map: 'M5 6.500a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3zM19 8.500a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3zM12 20.500a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3zM6.5 5.200l11 1.500M5.7 6.400l5.6 11.300M18.2 8.300l-5.4 9.4',
  copy: 'M9 9h9a2 2 0 0 1 2 2v7a2 2 0 0 1-2 2h-7a2 2 0 0 1-2-2zM5 15H4.500A1.5 1.5 0 0 1 3 13.500v-9A1.5 1.5 0 0 1 4.5 3h9A1.5 1.5 0 0 1 15 4.500V5',
  check: 'M4.5 12.500l5 5 10-11',
  cross: 'M6 6l12 12M18 6 6 18',
  search: 'M11 18a7 7 0 1 0 0-14 7 7 0 0 0 0 14zM20 20l-4-4',
  menu: 'M4 7h16M4 12h16M4 17h16',
  sun: 'M12 16a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM12 2.500v2M12 19.500v2M2.5 12h2M19.5 12h2M5.3 5.300l1.4 1.400M17.3 17.300l1.4 1.400M5.3 18.700l1.4-1.400M17.3 6.700l1.4-1.4',
  moon: 'M20 14.500A8 8 0 1 1 9.5 4a6.5 6.5 0 0 0 10.5 10.500z',
  system: 'M4 5h16v11H4zM9 20h6M12 16v4',
  out: 'M10 4H6a2 2 0 0 0-2 2v12a2 2 0 0 0 2 2h4M15 8l4 4-4 4M19 12H9',
  right: 'M9 5l7 7-7 7',
  left: 'M15 5l-7 7 7 7',
  up: 'M12 19V5M6 11l6-6 6 6',
  plus: 'M12 5v14M5 12h14',
  retry: 'M4 12a8 8 0 1 0 2.5-5.800M4 3v4.500h4.5',
  pause: 'M9 5v14M15 5v14',
  play: 'M7 4.500v15l12-7.500z',
  clock: 'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM12 7v5l3.5 2',
  key: 'M8 19a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM11 12l9-9M16.5 6.5 19.5 9.5',
  help: 'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM9.5 9.500a2.5 2.5 0 1 1 3.5 2.300c-.7.3-1 .9-1 1.700M12 16.700h.01',
  file: 'M6 3h8l5 5v11a2 2 0 0 1-2 2H6a1 1 0 0 1-1-1V4a1 1 0 0 1 1-1zM14 3v5h5',
  undo: 'M9 14 4 9l5-5M4 9h10a6 6 0 0 1 0 12h-3',
} as const;

export type IconName = keyof typeof PATHS;

export const Icon = ({ name, size = 16 }: { name: IconName; size?: number }) => (
  <svg class="icon" width={size} height={size} viewBox="0 0 24 24" aria-hidden="true">
    <path d={PATHS[name]} />
  </svg>
);

export const Logo = ({ size = 24 }: { size?: number }) => (
  <svg width={size} height={size} viewBox="0 0 24 24" aria-hidden="true" class="logo">
    <rect width="24" height="24" rx="6" />
    <path
      class="near"
      d="M5 8.500A2.5 2.5 0 0 1 7.5 6h5A2.5 2.5 0 0 1 15 8.500v1a2.5 2.5 0 0 1-2.5 2.500H8l-3 2.500z"
    />
    <path
      class="far"
      d="M19 12.500a2.5 2.5 0 0 0-2.5-2.500H16a3.6 3.6 0 0 1-3.5 3.500H10v.500a2.5 2.5 0 0 0 2.5 2.500H16l3 2.500z"
    />
  </svg>
);
