export const DAY_MS = 86_400_000;
/** Of records that belong to a task or a turn: longer than these are kept. */
export const RELATED_RETENTION_MS = 30 * DAY_MS;
