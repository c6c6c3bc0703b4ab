/** The tag of a blob that no record owns yet: the bucket removes what has it for long. */
export const UNOWNED = { key: 'unowned', value: 'true' } as const;
