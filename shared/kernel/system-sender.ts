/** What the sender is called where Parley itself speaks. */
export const SYSTEM_SENDER = 'parley';
