export const ROUND_TABLE = 'round-table';
