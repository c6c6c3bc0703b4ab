import { parseArgs } from 'node:util';
import { type Backup, backUp, restoreBackup, writeBackup } from './backup.ts';
import { StartError } from './cli-options.ts';
import type { RunningParley } from './composition.ts';
import { formatStartupError } from './startup-errors.ts';

export const BACKUP_HELP = `Copies what a data folder holds into a new folder, while its server runs or while it does not.

  npm run backup -- DIR [--data <folder>]     (.parley)

  npm run backup -- /backups/monday
`;

export const RESTORE_HELP = `Makes a data folder from a backup. The folder must not be there yet, or be empty.

  npm run restore -- DIR [--data <folder>]    (.parley)

  npm run restore -- /backups/monday --data .parley
`;

/** What the server does for `npm run backup`, one after the other. */
export const backUpRunning = (dir: string, parley: Pick<RunningParley, 'backUp'>, folder: string): Promise<Backup> => {
  const next = last.then(() => writeBackup(dir, folder, (to) => parley.backUp(to), true));
  last = next.catch(() => {});
  return next;
};

let last: Promise<unknown> = Promise.resolve();

/** Returns the exit code. */
export const runBackupCommand = async (command: 'backup' | 'restore', argv: string[]): Promise<number> => {
  let dir = '.parley';
  try {
    const { values, positionals } = parse(argv);
    if (values.help) {
      process.stdout.write(command === 'backup' ? BACKUP_HELP : RESTORE_HELP);
      return 0;
    }
    const [folder = '', ...more] = positionals;
    dir = values.data;
    if (folder === '' || more.length > 0) throw new StartError(`${command} takes one folder. Try --help.`);
    const report = command === 'backup' ? await backUp(dir, folder) : await restoreBackup(folder, dir);
    process.stdout.write(values.json ? `${JSON.stringify(report)}\n` : formatReport(report, dir));
    return 0;
  } catch (error) {
    process.stderr.write(`parley: ${formatStartupError(error, { dir, port: 0 })}\n`);
    return 1;
  }
};

const formatReport = (report: Backup | Awaited<ReturnType<typeof restoreBackup>>, dir: string): string =>
  'folder' in report
    ? `Backed up ${dir} to ${report.folder}: ${formatBytes(report.bytes)}${report.isOnline ? `, while it runs; it paused for ${report.pausedMs} ms` : ''}.\n`
    : `Restored the backup of ${report.at} to ${dir}: ${report.files} files. Start it with: npm start -- --data ${dir}\n`;

const formatBytes = (bytes: number): string =>
  bytes < 1e6 ? `${Math.ceil(bytes / 1e3)} KB` : `${(bytes / 1e6).toFixed(1)} MB`;

const parse = (args: string[]) => {
  try {
    return parseArgs({
      args,
      allowPositionals: true,
      options: {
        data: { type: 'string', default: '.parley' },
        json: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    });
  } catch (cause) {
    const [reason = ''] = String(cause instanceof Error ? cause.message : cause).split('\n');
    throw new StartError(`${reason.replace(/\.$/, '')}. Try --help.`, { cause });
  }
};
