/** The records whose changes have effects, or that may be due within seconds, by their sort key. */
export const CHANGE_FEED_KINDS: readonly string[] = [
  'task',
  'health',
  'direct-message',
  'card',
  'batch',
  'graph',
  'sequence',
  'head',
  'turn',
  'ui-action',
  'wakeup',
  'broadcast',
  'violation',
  'fanout',
  'domain-providers',
];
