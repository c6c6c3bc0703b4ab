import { measured, runSections } from '../run-sections.ts';
import { measureBundles } from './measure-bundles.ts';
import { measureIdle } from './measure-idle.ts';
import { measureLives } from './measure-lives.ts';
import { measureLog } from './measure-log.ts';
import { measureStored } from './measure-stored.ts';
import { type Counts, HELP, optionsFrom } from './options.ts';
import { printBundles, printIdle, printLives, printLog, printStored } from './report.ts';

await runSections({
  help: HELP,
  optionsFrom,
  sections: {
    lives: measured(measureLives, printLives),
    log: measured(measureLog, printLog),
    stored: measured(
      ({ sizes, livesPerSize, warmUp }: Counts) => measureStored(sizes, livesPerSize, warmUp),
      printStored,
    ),
    idle: measured(({ idleSeconds }: Counts) => measureIdle(idleSeconds), printIdle),
    bundles: measured(({ imports }: Counts) => measureBundles(imports), printBundles),
  },
  suffix: '-aws',
});
