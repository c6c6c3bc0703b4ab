import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { startBrowser } from '../support/browser.ts';
import { startServer, tempDir } from '../support/server-process.ts';

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
  schedules: 'schedules',
  schedule: 'schedules/nightly',
  'new-schedule': 'schedules?new=true',
  webhooks: 'webhooks',
  webhook: 'webhooks/chat',
  events: 'events',
  messages: 'events?show=messages',
  changes: 'events?show=changes',
  violations: 'violations',
};

/** Those of the README, each in the shape that shows it best. */
const CHOSEN: [name: string, page: string, shape: string][] = [
  ['console-overview', 'overview', 'light-wide'],
  ['console-task', 'task', 'dark-wide'],
  ['console-map', 'map', 'light-wide'],
];

/** Without anything in it, as after the first start. */
const EMPTY_PAGES = Object.keys(PAGES).filter((page) => !/\/|\?(?!window)/.test(PAGES[page] ?? ''));
/** Shapes of what is empty or broken. */
const FEW_SHAPES = ['light-wide', 'dark-narrow'];
const BROKEN_PAGES = ['overview', 'tasks', 'webhooks'];

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

/** What the demonstration has none of. */
const addRest = (page: Page): Promise<unknown> =>
  page.evaluate(`(async () => {
    const headers = { authorization: 'Bearer ' + sessionStorage.getItem('parley-key'), 'content-type': 'application/json' };
    const put = (path, body) => fetch('../v1/' + path, { method: 'PUT', headers, body: JSON.stringify(body) });
    const task = { capability: 'security.briefing', input: { scope: 'daily' } };
    await put('schedules/nightly', { agent: 'tim', cron: '0 6 * * 1-5', task });
    await put('schedules/pulse', { agent: 'editor', cron: '*/15 * * * *', task, status: 'paused' });
    const webhook = { url: 'https://chat.example.com/hooks/parley', types: ['task.failed', 'task.expired'] };
    await put('webhooks/chat', { ...webhook, description: 'Tells the people on call' });
    await put('webhooks/archive', { ...webhook, types: ['task.*'], disabled: true });
    await fetch('../v1/webhooks/chat/test', { method: 'POST', headers });
    const body = JSON.stringify({ filter: { error: 'book_lost' }, reason: 'The book is found' });
    await fetch('../v1/tasks/retry', { method: 'POST', headers, body });
  })()`);

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
const owner = { after: (cleanUp: () => unknown) => cleanUps.push(cleanUp) };
const { child, link } = await startDemo();

interface Site {
  address: string;
  key: string;
  ids: Record<string, string>;
}

const openPage = async (browser: Browser, { address, key, ids }: Site, page: string, shape: string): Promise<Page> => {
  const tab = await browser.newPage({ locale: 'en-US', ...SHAPES[shape] });
  await tab.addInitScript(`sessionStorage.setItem('parley-key', ${JSON.stringify(key)})`);
  const where = (PAGES[page] ?? '').replace(/TASK|GRAPH|TURN/, (name) => ids[name] ?? '');
  await tab.goto(`${address}#/${where}`);
  await tab.locator('h1').waitFor();
  await sleep(SETTLE_MS);
  return tab;
};

const takePicture = async (tab: Page, path: string): Promise<void> => {
  await tab.screenshot({ path });
  await tab.close();
  console.log(path);
};

const takeAll = async (browser: Browser, site: Site): Promise<void> => {
  mkdirSync(ALL, { recursive: true });
  for (const shape of Object.keys(SHAPES))
    for (const page of Object.keys(PAGES))
      await takePicture(await openPage(browser, site, page, shape), join(ALL, `${page}-${shape}.png`));
  const empty = await startServer(owner, { dir: tempDir(owner) });
  const emptySite = { address: `${empty.address}/console/`, key: empty.adminKey, ids: {} };
  for (const shape of FEW_SHAPES)
    for (const page of EMPTY_PAGES)
      await takePicture(await openPage(browser, emptySite, page, shape), join(ALL, `empty-${page}-${shape}.png`));
  const shown = FEW_SHAPES.flatMap((shape) => BROKEN_PAGES.map((page) => ({ shape, page })));
  const tabs = await Promise.all(shown.map(({ page, shape }) => openPage(browser, site, page, shape)));
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  await exited;
  await sleep(SETTLE_MS);
  for (const [index, { page, shape }] of shown.entries()) {
    const tab = tabs[index];
    if (tab) await takePicture(tab, join(ALL, `broken-${page}-${shape}.png`));
  }
};

try {
  const browser = await startBrowser(owner);
  await sleep(BUSY_MS);
  const first = await browser.newPage({ locale: 'en-US' });
  await first.goto(link);
  await first.getByRole('navigation').first().waitFor();
  const key = (await first.evaluate(`sessionStorage.getItem('parley-key')`)) as string;
  const site = { address: link.replace(/#.*/, ''), key, ids: await findIds(first) };
  if (process.argv.includes('--all')) {
    await addRest(first);
    await takeAll(browser, site);
  } else {
    mkdirSync(PICTURES, { recursive: true });
    for (const [name, page, shape] of CHOSEN)
      await takePicture(await openPage(browser, site, page, shape), join(PICTURES, `${name}.png`));
  }
} finally {
  for (const cleanUp of cleanUps.toReversed()) await cleanUp();
  child.kill('SIGTERM');
}
