import { parseArgs } from 'node:util';
import type { Deps } from '../shared/identity/deps.ts';
import type { Item } from '../shared/ports/records.ts';
import { StartError } from './cli-options.ts';
import { callControl } from './control-socket.ts';

const MAX_RECORDS = 100;

/** What the server answers for it: one record, or those under a key. */
export const findRecords = async (
  { records }: Pick<Deps, 'records'>,
  { pk, sk }: { pk: string; sk?: string | undefined },
): Promise<Item[]> => {
  if (sk === undefined) return await records.query({ pk, limit: MAX_RECORDS });
  const found = await records.get({ pk, sk });
  return found ? [found] : [];
};

/** Returns the exit code. */
export const runRecordsCommand = async (argv: string[]): Promise<number> => {
  try {
    const { values, positionals } = parseArgs({
      args: argv,
      allowPositionals: true,
      options: { data: { type: 'string', default: '.parley' }, json: { type: 'boolean', default: false } },
    });
    const [pk = '', sk] = positionals;
    const answer = await callControl<Item[]>(values.data, { getRecords: { pk, sk } });
    if (answer === undefined)
      throw new StartError(`No server uses ${values.data}. Start it, or name another with --data.`);
    if ('error' in answer) throw new StartError(answer.error);
    if (answer.done.length === 0) throw new StartError(`${values.data} has no record ${[pk, sk].join(' ').trim()}.`);
    const indent = values.json ? undefined : 2;
    for (const record of answer.done) process.stdout.write(`${JSON.stringify(record, null, indent)}\n`);
    return 0;
  } catch (error) {
    process.stderr.write(`parley: ${error instanceof Error ? error.message : String(error)}\n`);
    return 1;
  }
};
