import { measureCpu } from './measure-cpu.ts';
import { measureDialects } from './measure-dialects.ts';
import { measureGrowth } from './measure-growth.ts';
import { measureLists } from './measure-lists.ts';
import { measureIdle, measureLives } from './measure-lives.ts';
import { measureMessages } from './measure-messages.ts';
import { measureMillion } from './measure-million.ts';
import { measureStalls } from './measure-stalls.ts';
import { measureStreams } from './measure-streams.ts';
import { measureTurns } from './measure-turns.ts';
import { HELP, optionsFrom } from './options.ts';
import { printCpu, printIdle, printLives, printMessages, printMillion, printStreams, printTurns } from './report.ts';
import { printLists } from './report-lists.ts';
import { printDialects, printGrowth, printStalls } from './report-sizes.ts';
import { measured, runSections } from './run-sections.ts';

await runSections({
  help: HELP,
  optionsFrom,
  sections: {
    dialects: measured(measureDialects, printDialects),
    growth: measured(measureGrowth, printGrowth),
    idle: measured(measureIdle, printIdle),
    lives: measured(measureLives, printLives),
    lists: measured(measureLists, printLists),
    cpu: measured(measureCpu, printCpu),
    million: measured(measureMillion, printMillion),
    messages: measured(measureMessages, printMessages),
    streams: measured(measureStreams, printStreams),
    turns: measured(measureTurns, printTurns),
    stalls: measured(measureStalls, printStalls),
  },
});
