export const SYSTEM_SENDER = 'parley';
