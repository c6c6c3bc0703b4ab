/** The records whose changes have effects, or that may be due within seconds, by their sort key. */
export const CHANGE_FEED_KINDS: readonly string[] = [
  'task',
  'health',
  'note',
  'card',
  'batch',
  'graph',
  'sequence',
  'head',
  'turn',
  'uiaction',
  'bell',
  'broadcast',
  'violation',
  'walk',
  'served',
];
