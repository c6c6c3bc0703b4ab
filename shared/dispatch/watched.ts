/** The records whose changes have effects, by their sort key. */
export const WATCHED: readonly string[] = [
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
];
