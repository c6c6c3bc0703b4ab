import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import type { Item } from '../../ports/records.ts';
import { INSERT_RECORD, toIndexedValues } from './record-table.ts';

export const putIfNewer = (sql: DatabaseSync, body: SQLInputValue | undefined): void => {
  const item = parseItem(body);
  if (!item) return;
  const found = sql.prepare('SELECT body FROM records WHERE pk = ? AND sk = ?').get(item.pk, item.sk);
  const before = parseItem(found?.body);
  if (before && before.v >= item.v) return;
  sql.prepare('DELETE FROM records WHERE pk = ? AND sk = ?').run(item.pk, item.sk);
  sql.prepare(INSERT_RECORD).run(item.pk, item.sk, String(body), ...toIndexedValues(item));
};

const parseItem = (body: unknown): Item | undefined => {
  try {
    return JSON.parse(String(body));
  } catch {
    return undefined;
  }
};
