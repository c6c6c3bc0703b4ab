export const NAME = 'round-table';
