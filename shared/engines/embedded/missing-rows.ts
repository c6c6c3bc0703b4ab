import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import { putIfNewer } from './put-if-newer.ts';
import { attempt, type Row, type Table } from './read-around.ts';

export interface CopiedTable extends Table {
  index?: { name: string; by: [string, string] };
}

export const insertInto = (to: DatabaseSync, { name, columns }: Table): ((row: Row) => number) => {
  const marks = columns.map(() => '?').join(', ');
  const insert = to.prepare(`INSERT OR IGNORE INTO ${name} (${columns.join(', ')}) VALUES (${marks})`);
  return (row) => Number(insert.run(...columns.map((column) => row[column] ?? null)).changes);
};

export const lookForMissing = (from: DatabaseSync, to: DatabaseSync, table: CopiedTable): string[] => {
  if (!table.index) return [];
  const { name, by } = table.index;
  const insert = insertInto(to, table);
  const isThere = to.prepare(`SELECT 1 FROM ${table.name} WHERE ${by[0]} = ? AND ${by[1]} = ?`);
  const read = attempt(() =>
    from.prepare(`SELECT ${table.columns.join(', ')} FROM ${table.name} NOT INDEXED WHERE ${table.key[0]} = ?`),
  );
  if (typeof read === 'string') return [];
  let missing = 0;
  const look = (key: SQLInputValue): void => {
    const row = attempt(() => read.get(key));
    if (typeof row === 'string') missing += 1;
    // Another record may have this row number by now.
    else if (row && insert(row) === 0 && table.name === 'records') putIfNewer(to, row.body ?? null);
  };
  const listNamedRows = (order: string): string | undefined => {
    const rows = attempt(() =>
      from
        .prepare(`SELECT ${by.join(', ')}, ${table.key[0]} AS key FROM ${table.name}
      INDEXED BY ${name} ORDER BY ${by.map((column) => `${column} ${order}`).join(', ')}`)
        .iterate(),
    );
    for (;;) {
      const next = typeof rows === 'string' ? rows : attempt(() => rows.next());
      if (typeof next === 'string') return next;
      if (next.done) return undefined;
      if (!isThere.get(next.value[by[0]] ?? null, next.value[by[1]] ?? null)) look(next.value.key ?? null);
    }
  };
  const why = listNamedRows('ASC');
  if (why !== undefined) listNamedRows('DESC');
  const count = `${why === undefined ? '' : 'at least '}${missing} rows`;
  return missing === 0 ? [] : [`${count} are missing from ${table.name}`];
};
