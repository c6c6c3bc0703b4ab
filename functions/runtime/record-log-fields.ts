import { isTask } from '../../shared/model/task.ts';
import { isTurn } from '../../shared/model/turn.ts';
import type { Item } from '../../shared/ports/records.ts';

/** What a line of the log says of the record that it is about, so that it is found beside those of the requests. */
export const getRecordLogFields = (record: Item | undefined): Record<string, string | undefined> => {
  if (!record) return {};
  if (isTask(record)) {
    const { id, holder, to, from, traceparent } = record;
    return { record: record.pk, taskId: id, agent: holder ?? to ?? from, traceparent };
  }
  if (isTurn(record)) {
    const { id, task, agent, traceparent } = record;
    return { record: record.pk, turn: id, taskId: task, agent, traceparent };
  }
  return { record: record.pk };
};
