export const KNIGHT = 'knight';
