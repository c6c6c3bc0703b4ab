/** On blobs without an owning record; a lifecycle rule deletes them. */
export const UNRETAINED_TAG = { key: 'unowned', value: 'true' } as const;
