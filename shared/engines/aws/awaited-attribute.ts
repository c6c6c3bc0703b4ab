/** Of a record for whose effects somebody waits, as the filters of the stream see it. */
export const AWAITED_ATTRIBUTE = 'w';
