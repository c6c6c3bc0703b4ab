export type Fields = Readonly<Record<string, unknown>>;

/**
 * Between the form of a record that earlier code stored and the present one. Both functions are pure. Neither may change `pk`,
 * `sk`, `due`, `expires` or an index key.
 */
export interface RecordMigration {
  /** Recognises the earlier form by its shape. A record of the present form comes back as it is. */
  upgrade(record: Fields): Fields;
  /** What functions of an earlier deployment read instead of the fields that are set; undefined where one is unset. */
  downgrade(fields: Fields): Fields;
}

/** By the kind of record: its sort key up to the first `#`. */
export type RecordMigrations = Readonly<Record<string, { readonly migration?: RecordMigration }>>;

/** Earlier code writes the earlier name only, and present code writes both: where they differ, the earlier name is newer. */
export const renameField = (earlier: string, field: string): RecordMigration => ({
  upgrade: (record) => {
    if (!(earlier in record)) return record;
    const { [earlier]: value, ...rest } = record;
    return { ...rest, [field]: value };
  },
  downgrade: (fields) => (field in fields ? { [earlier]: fields[field] } : {}),
});
