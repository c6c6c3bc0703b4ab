/** The tag of a blob that no record owns yet: the bucket removes what has it for long. */
export const UNRETAINED_TAG = { key: 'unowned', value: 'true' } as const;
