import type { App } from '../../local/cloudformation-runner/index.ts';
import { removeFolder, temporaryFolder } from '../own-processes.ts';
import { CONTENTS } from './content.ts';
import { oneByOne } from './lives.ts';
import { type MeasuredLives, measureRow } from './measure-lives.ts';
import type { Counts } from './options.ts';
import { startSite } from './site.ts';

export interface LogCost {
  without: MeasuredLives;
  with: MeasuredLives;
}

const LOGGING: App = { file: 'bench/aws/logging-app/app.ts', out: '.cache/logging-template' };

export const measureLog = async (counts: Counts): Promise<LogCost> => ({
  without: await measured('not logged', counts),
  with: await measured('logged', counts, LOGGING),
});

const measured = async (label: string, { lives, warmUp }: Counts, app?: App): Promise<MeasuredLives> => {
  const dir = temporaryFolder();
  const site = await startSite(dir, app);
  try {
    await measureRow(site, 'to warm up', warmUp, CONTENTS.text, oneByOne);
    return await measureRow(site, label, lives, CONTENTS.text, oneByOne);
  } finally {
    await site.stop();
    removeFolder(dir);
  }
};
