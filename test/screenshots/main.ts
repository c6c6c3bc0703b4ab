import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { startBrowser } from '../support/browser.ts';

/** Writes the pictures of the README from the demonstration; with `--all`, every page in every shape to `dist/screenshots/`. */

const ROOT = resolve(import.meta.dirname, '../..');
const PICTURES = join(ROOT, 'docs', 'images');
const ALL = join(ROOT, 'dist', 'screenshots');
/** The demonstration has shown everything once by then. */
const BUSY_MS = 45_000;
const SETTLE_MS = 2500;

const SHAPES: Record<string, BrowserContextOptions> = {
  'light-wide': { colorScheme: 'light', viewport: { width: 1280, height: 800 } },
  'dark-wide': { colorScheme: 'dark', viewport: { width: 1280, height: 800 } },
  'light-narrow': { colorScheme: 'light', viewport: { width: 390, height: 844 } },
  'dark-narrow': { colorScheme: 'dark', viewport: { width: 390, height: 844 } },
};

const PAGES: Record<string, string> = {
  overview: '?window=15m',
  'for-you': 'for-you',
  submit: 'submit?capability=security.briefing',
  tasks: 'tasks',
  task: 'tasks/TASK',
  'dead-letters': 'dead-letters',
  graph: 'graphs/GRAPH',
  graphs: 'graphs',
  turn: 'turns/TURN',
  turns: 'turns',
  agents: 'agents',
  agent: 'agents/galahad',
  queues: 'queues',
  map: 'map?window=5m',
  events: 'events',
  violations: 'violations',
};

/** Those of the README, each in the shape that shows it best. */
const CHOSEN: [name: string, page: string, shape: string][] = [
  ['console-overview', 'overview', 'light-wide'],
  ['console-task', 'task', 'dark-wide'],
  ['console-map', 'map', 'light-wide'],
];

const startDemo = async (): Promise<{ child: ChildProcess; link: string }> => {
  const child = spawn(process.execPath, [join(ROOT, 'examples/demo/main.ts'), '--port', '0'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let said = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  while (!/sign-in\S+\s/.test(said)) await sleep(100);
  return { child, link: /http:\S+sign-in\S+/.exec(said)?.[0] ?? '' };
};

/** What a page shows is the newest of its kind that has most to show. */
const findIds = async (page: Page): Promise<Record<string, string>> =>
  (await page.evaluate(`(async () => {
    const headers = { authorization: 'Bearer ' + sessionStorage.getItem('parley-key') };
    const get = async (path) => (await fetch('../' + path, { headers })).json();
    const { tasks } = await get('v1/tasks?type=intel.facts&limit=100');
    const { graphs } = await get('v1/graphs?limit=20');
    const { turns } = await get('v1/turns?limit=20');
    const tried = tasks.filter(({ state }) => state === 'completed').sort((a, b) => b.attempt - a.attempt);
    const ended = graphs.find(({ status }) => status === 'in_progress') ?? graphs[0];
    const turn = turns.find(({ status }) => status === 'success') ?? turns[0];
    return { TASK: tried[0]?.id ?? '', GRAPH: ended?.graphId ?? '', TURN: turn?.agent_turn_id ?? '' };
  })()`)) as Record<string, string>;

const cleanUps: (() => unknown)[] = [];
const { child, link } = await startDemo();
try {
  const browser = await startBrowser({ after: (cleanUp) => cleanUps.push(cleanUp) });
  await sleep(BUSY_MS);
  const first = await browser.newPage({ locale: 'en-US' });
  await first.goto(link);
  await first.getByRole('navigation').first().waitFor();
  const key = await first.evaluate(`sessionStorage.getItem('parley-key')`);
  const ids = await findIds(first);
  const address = link.replace(/#.*/, '');
  const takePicture = async (page: string, shape: string, path: string): Promise<void> => {
    const tab = await browser.newPage({ locale: 'en-US', ...SHAPES[shape] });
    await tab.addInitScript(`sessionStorage.setItem('parley-key', ${JSON.stringify(key)})`);
    const where = (PAGES[page] ?? '').replace(/TASK|GRAPH|TURN/, (name) => ids[name] ?? '');
    await tab.goto(`${address}#/${where}`);
    await tab.locator('h1').waitFor();
    await sleep(SETTLE_MS);
    await tab.screenshot({ path });
    await tab.close();
    console.log(path);
  };
  if (process.argv.includes('--all')) {
    mkdirSync(ALL, { recursive: true });
    for (const shape of Object.keys(SHAPES))
      for (const page of Object.keys(PAGES)) await takePicture(page, shape, join(ALL, `${page}-${shape}.png`));
  } else {
    mkdirSync(PICTURES, { recursive: true });
    for (const [name, page, shape] of CHOSEN) await takePicture(page, shape, join(PICTURES, `${name}.png`));
  }
} finally {
  for (const cleanUp of cleanUps) await cleanUp();
  child.kill('SIGTERM');
}
