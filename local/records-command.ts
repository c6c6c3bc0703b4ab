import { parseArgs } from 'node:util';
import type { Item } from '../shared/ports/records.ts';
import { StartError } from './cli-options.ts';
import { callControl } from './control-socket.ts';
import { printRecords } from './print-records.ts';

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
    printRecords(answer.done, [pk, sk], values.data, values.json);
    return 0;
  } catch (error) {
    process.stderr.write(`parley: ${error instanceof Error ? error.message : String(error)}\n`);
    return 1;
  }
};
