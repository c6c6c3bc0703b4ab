import { ABOUT } from './cpu-parts.ts';
import type { Measured } from './load.ts';
import type { Machine } from './machine.ts';
import type { CpuByWay } from './measure-cpu.ts';
import type { Idle, Lives } from './measure-lives.ts';
import type { Messages } from './measure-messages.ts';
import type { Million } from './measure-million.ts';
import type { StreamCost } from './measure-streams.ts';
import type { Turns } from './measure-turns.ts';
import { median, rounded } from './numbers.ts';
import { printTable } from './print-table.ts';
import { WAYS } from './ways.ts';

/** Measured on another machine with 2 cores, behind HTTP and durable; not comparable with this run. */
const ELSEWHERE = [
  ['Restate with fsync, four partitions', '1,170', '5 ms'],
  ['pg-boss, fetching in batches', '1,110', '11 ms'],
  ['BullMQ behind a gateway, Redis syncing every second', '820', '2.7 ms'],
  ['Restate with fsync, one partition', '650', '5 ms'],
  ['graphile-worker', '500', ''],
];

const percent = (share: number): string => `${(share * 100).toFixed(1)} %`;
const ms = (value: number): string => `${rounded(value)} ms`;
const count = (value: number): string => Math.round(value).toLocaleString('en');

export const printMachine = ({ cpu, cores, node, commit, loadBefore, syncMs }: Machine): void =>
  console.log(`${cores} × ${cpu}, Node ${node}, ${commit}; load before ${rounded(loadBefore)}, one sync ${ms(syncMs)}`);

export const printLives = ({ oneByOne, twoCalls, inBatches }: Lives): void => {
  const row = (label: string, m: Measured): string[] => [
    label,
    count(m.livesPerSecond),
    ms(m.p50Ms),
    ms(m.p99Ms),
    ms(m.serverCpuMsPerLife),
    percent(m.mainThreadBusy),
    `${m.residentMb} MB`,
    rounded(m.coresTaken).toString(),
  ];
  printTable('Lives, 64 in flight (target: 1,500 a second, memory flat)', [
    ['', 'lives/s', 'p50', 'p99', 'CPU/life', 'main thread', 'memory', 'cores taken by others'],
    ...oneByOne.map((measured) => row(`${WAYS.oneByOne.label}, up to ${count(measured.after)}`, measured)),
    row(`${WAYS.twoCalls.label}, up to ${count(oneByOne[0]?.after ?? 0)}`, twoCalls),
    row(`${WAYS.inBatches.label}, up to ${count(oneByOne[0]?.after ?? 0)}`, inBatches),
  ]);
  printTable('Elsewhere, on 2 cores', [['', 'lives/s', 'median idle'], ...ELSEWHERE]);
};

export const printIdle = (idle: Idle): void => {
  const row = (label: string, { p50Ms, p99Ms, serverCpuMsPerLife, coresTaken }: Measured): string[] => [
    label,
    ms(p50Ms),
    ms(p99Ms),
    ms(serverCpuMsPerLife),
    rounded(p50Ms / idle.bare.p50Ms).toString(),
    rounded(coresTaken).toString(),
  ];
  printTable('One life at a time (target: 3 ms median)', [
    ['', 'p50', 'p99', 'CPU/life', 'of bare', 'cores taken by others'],
    row('a bare server, four calls and two syncs', idle.bare),
    row(WAYS.idle.label, idle.idle),
    row(WAYS.idleTwoCalls.label, idle.idleTwoCalls),
  ]);
};

export const printMillion = ({ stored, databaseGb, empty, full, ratios }: Million): void => {
  const row = (label: string, rounds: Measured[]): string[] => [
    label,
    rounds.map(({ livesPerSecond }) => count(livesPerSecond)).join(' '),
    ms(median(rounds.map(({ serverCpuMsPerLife }) => serverCpuMsPerLife))),
    `${rounds.at(-1)?.residentMb} MB`,
    rounds.map(({ coresTaken }) => rounded(coresTaken)).join(' '),
  ];
  printTable(`${count(stored)} stored tasks against an empty store, in turn (target: at least 80 %)`, [
    ['', 'lives/s by round', 'CPU/life', 'memory', 'cores taken by others'],
    row('empty', empty),
    row(`full, ${rounded(databaseGb)} GB`, full),
    ['ratio of throughput', `${percent(median(ratios))} (${ratios.map(percent).join(', ')})`, '', '', ''],
  ]);
};

export const printMessages = ({ inboxes, broadcast }: Messages): void => {
  printTable('A full inbox of 100, in process, median of 50', [
    ['messages in others', 'send', 'asks for', 'read of 100', 'asks for'],
    ...inboxes.map((m) => [count(m.stored), ms(m.sendMs), m.sendCalls, ms(m.readMs), m.readCalls]),
  ]);
  const { agents, ms: took, msPerAgent, callsPerAgent } = broadcast;
  printTable('One message to many, in process', [
    ['agents', 'in all', 'for each', 'calls of the records for each'],
    [count(agents), ms(took), ms(msPerAgent), String(rounded(callsPerAgent))],
  ]);
};

export const printCpu = (cpu: CpuByWay): void => {
  for (const way of ['oneByOne', 'inBatches'] as const) {
    const { parts, functions } = cpu[way];
    const label = `CPU of the server's main thread, ${WAYS[way].label}`;
    printTable(label, [['', 'share', ''], ...parts.map(({ part, share }) => [part, percent(share), ABOUT[part]])]);
    printTable('  its largest functions, by self time', [
      ['', 'share', ''],
      ...functions.map(({ name, part, share }) => [name, percent(share), part]),
    ]);
  }
};

export const printStreams = (costs: StreamCost[]): void => {
  const cpu = (rounds: Measured[]): number => median(rounds.map(({ serverCpuMsPerLife }) => serverCpuMsPerLife));
  const rate = (rounds: Measured[]): number => median(rounds.map(({ livesPerSecond }) => livesPerSecond));
  printTable('Lives beside open streams of events, in turn with lives beside none (target: under 10 % of CPU more)', [
    ['streams', '', 'CPU/life', 'without', 'lives per CPU second', 'without', 'CPU more', 'lives/s', 'without'],
    ...costs.map(({ label, streams, without, withStreams }) => [
      count(streams),
      label,
      ms(cpu(withStreams)),
      ms(cpu(without)),
      count(1000 / cpu(withStreams)),
      count(1000 / cpu(without)),
      percent(cpu(withStreams) / cpu(without) - 1),
      count(rate(withStreams)),
      count(rate(without)),
    ]),
  ]);
};

export const printTurns = ({ calls, oneAgent, manyAgents, enqueuedToLeasedMs }: Turns): void => {
  printTable('What a call about a turn asks for, in process', [
    ['', 'asks the records for', 'median'],
    ...calls.map(({ call, asks, p50Ms }) => [call, asks, ms(p50Ms)]),
    ['enqueued, until a worker that waits has it', '', ms(enqueuedToLeasedMs)],
  ]);
  printTable('Whole turns of eight calls, in process', [
    ['agents', 'turns', 'turns/s', 'CPU/turn'],
    ['1, one after the other', count(oneAgent.turns), count(oneAgent.perSecond), ''],
    [count(manyAgents.agents), count(manyAgents.turns), count(manyAgents.perSecond), ms(manyAgents.cpuMsPerTurn)],
  ]);
};
