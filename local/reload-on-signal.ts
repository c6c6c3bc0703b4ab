import { closeSync, openSync } from 'node:fs';
import type { Config } from '../shared/config/config.ts';
import type { Log } from '../shared/kernel/log.ts';
import { listRestartChanges } from './check-reload.ts';
import { reloadConfig } from './load-config.ts';

interface ReloadTarget {
  file: string | undefined;
  log: Log;
  getConfig(): Config;
  setConfig(config: Config): void;
  /** SIGHUP also says that the terminal is gone. */
  stop(): unknown;
}

/** On SIGHUP the configuration is read again. One with a mistake changes nothing. */
export const reloadOnSignal = (target: ReloadTarget): void => {
  const hadTerminal = hasTerminal();
  let last = Promise.resolve();
  process.on('SIGHUP', () => {
    if (hadTerminal && !hasTerminal()) target.stop();
    else last = last.then(() => reload(target));
  });
};

const reload = async ({ file, log, getConfig, setConfig }: ReloadTarget): Promise<void> => {
  try {
    const config = await reloadConfig(file);
    const fixed = listRestartChanges(getConfig(), config);
    if (fixed.length > 0) throw new Error(`Only a restart can change: ${fixed.join(', ')}.`);
    setConfig(config);
    log('info', 'configuration reloaded', { file });
  } catch (error) {
    log('error', 'configuration refused, the old one stays', {
      file,
      cause: error instanceof Error ? error.message : String(error),
    });
  }
};

const hasTerminal = (): boolean => {
  try {
    closeSync(openSync('/dev/tty', 'r'));
    return true;
  } catch {
    return false;
  }
};
