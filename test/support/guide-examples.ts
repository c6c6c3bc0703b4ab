import assert from 'node:assert/strict';
import { type Caller, callerWith, type Reply } from './api.ts';
import { eventually } from './eventually.ts';
import type { TestParley } from './test-parley.ts';

/** A guide is a scene: its marked blocks are calls, in the order of the page. */
export interface GuideExample {
  line: number;
  /** The text between the block before and this one. */
  prose: string;
  agent: string;
  method: string;
  path: string;
  headers: Record<string, string>;
  body: string;
  /** As the page has it, before names in angle brackets are filled in; undefined where the call has no body. */
  json: unknown;
  status: number | undefined;
  code: string | undefined;
  /** What the answer must contain. */
  reply: unknown;
}

interface Block {
  line: number;
  prose: string;
  language: string;
  kind: string;
  options: Map<string, string>;
  text: string;
}

/**
 * The marks are in the info string of a block:
 * - `json message agent=<id>`: a message, sent to POST /v1/messages with the key of the agent
 * - `http agent=<id>`: any other call, as its request line, headers, an empty line and a body
 * - `json reply`: what the answer to the call before contains, at least
 *
 * `status=` and `code=` beside the agent say how a call is answered otherwise than with success.
 */
export const parseGuide = (markdown: string): GuideExample[] => {
  const examples: GuideExample[] = [];
  for (const block of listBlocks(markdown)) {
    const { language, kind, text, line, options } = block;
    if (language === 'json' && kind === 'reply') {
      const last = examples.at(-1);
      assert.ok(last && last.reply === undefined, `line ${line}: the reply belongs to no call`);
      last.reply = parseJson(text, line);
    } else if (language === 'json' && kind === 'message') {
      examples.push({ ...toExample(block), method: 'POST', path: '/v1/messages', headers: {}, body: text });
    } else if (language === 'http') {
      examples.push({ ...toExample({ ...block, text: splitCall(text).body }), ...splitCall(text) });
    } else {
      assert.notEqual(language, 'json', `line ${line}: mark the example: json message, or json reply`);
      assert.equal(options.size, 0, `line ${line}: only json and http blocks have options`);
    }
  }
  return examples;
};

const listBlocks = (markdown: string): Block[] => {
  const blocks: Block[] = [];
  let prose: string[] = [];
  let open: { block: Block; lines: string[] } | undefined;
  for (const [index, text] of markdown.split('\n').entries()) {
    const fence = /^```(.*)$/.exec(text);
    if (!fence) {
      (open?.lines ?? prose).push(text);
    } else if (open) {
      blocks.push({ ...open.block, text: open.lines.join('\n') });
      open = undefined;
    } else {
      const [language = '', ...marks] = (fence[1] ?? '').split(' ');
      const options = new Map(marks.filter((mark) => mark.includes('=')).map(splitOption));
      const kind = marks.find((mark) => !mark.includes('=')) ?? '';
      open = { block: { line: index + 1, prose: prose.join('\n'), language, kind, options, text: '' }, lines: [] };
      prose = [];
    }
  }
  assert.equal(open, undefined, 'a block has no end');
  return blocks;
};

const splitOption = (mark: string): [string, string] => {
  const at = mark.indexOf('=');
  return [mark.slice(0, at), mark.slice(at + 1)];
};

const toExample = ({ line, prose, options, text }: Block) => {
  const agent = options.get('agent');
  assert.ok(agent, `line ${line}: agent= is missing`);
  const status = options.get('status');
  const json = text.trim() === '' ? undefined : parseJson(text, line);
  const code = options.get('code');
  return {
    line,
    prose,
    agent,
    status: status === undefined ? undefined : Number(status),
    code,
    json,
    reply: undefined,
  };
};

const splitCall = (text: string): Pick<GuideExample, 'method' | 'path' | 'headers' | 'body'> => {
  const [head = '', ...body] = text.split('\n\n');
  const [request = '', ...lines] = head.split('\n');
  const [method = '', path = ''] = request.split(' ');
  const headers = lines.map((line) => line.split(': ')).map(([name = '', value = '']) => [name.toLowerCase(), value]);
  return { method, path, headers: Object.fromEntries(headers), body: body.join('\n\n') };
};

const parseJson = (text: string, line: number): unknown => {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(`line ${line}: the example is no JSON`, { cause: error });
  }
};

const SUCCESSES = [200, 201, 202, 204];

/** `<!-- 60 s later -->` in the text lets time pass before the next call. */
const LATER = /<!-- (\d+) s later -->/;

/** Makes the calls of a guide, one after the other, and sees each answered as the page says. */
export const playGuide = async (
  { transport, admin, clock }: Pick<TestParley, 'transport' | 'admin' | 'clock'>,
  examples: readonly GuideExample[],
): Promise<void> => {
  const callers = new Map([['admin', admin]]);
  const names = new Map<string, string>();
  for (const example of examples) {
    clock.advance(Number(LATER.exec(example.prose)?.[1] ?? 0) * 1000);
    const caller = callers.get(example.agent);
    assert.ok(caller, `line ${example.line}: no agent ${example.agent} is registered before`);
    const { body } = await playExample(caller, example, names);
    for (const [id, key] of listKeys(body)) callers.set(id, callerWith(transport, key));
  }
};

const playExample = (caller: Caller, example: GuideExample, names: Map<string, string>): Promise<Reply> => {
  const { method, path, body, headers, line } = example;
  const call = async (): Promise<Reply> => {
    const sent = body.trim() === '' ? undefined : fillIn(body, names);
    const given = Object.entries(headers).map(([name, value]) => [name, fillIn(value, names)]);
    const reply = await caller.call(method, fillIn(path, names), sent, Object.fromEntries(given));
    assertAnswered(example, reply);
    if (example.reply === undefined) return reply;
    const bound = new Map<string, string>();
    const difference = findDifference(example.reply, reply.body, names, bound);
    assert.equal(difference, undefined, `line ${line}: ${difference} in ${JSON.stringify(reply.body)}`);
    for (const [name, value] of bound) names.set(name, value);
    return reply;
  };
  // What a message leads to is to be read a moment later.
  return method === 'GET' ? eventually(call) : call();
};

const assertAnswered = ({ line, prose, method, path, status, code }: GuideExample, reply: Reply): void => {
  const said = `line ${line}: ${method} ${path} answered ${reply.status} ${JSON.stringify(reply.body)}`;
  const expected = status ?? (path === '/v1/messages' ? 202 : undefined);
  assert.ok(expected === undefined ? SUCCESSES.includes(reply.status) : reply.status === expected, said);
  assert.equal(reply.status < 400 ? undefined : reply.body.code, code, said);
  if (code !== undefined)
    assert.ok(
      prose.replaceAll(/\s+/g, ' ').includes(`${status} ${code}`),
      `line ${line}: the text must say ${status} ${code}`,
    );
};

/** `<turn>` in a reply names the value that is there; wherever it is written later, it means that value. */
const NAME = /<[a-z-]+>/g;
const fillIn = (text: string, names: ReadonlyMap<string, string>): string =>
  text.replace(NAME, (name) => names.get(name) ?? name);

/** Where the value does not contain what is expected: of objects the named fields, of arrays the items in their order. */
const findDifference = (
  expected: unknown,
  value: unknown,
  names: ReadonlyMap<string, string>,
  bound: Map<string, string>,
  path = 'reply',
): string | undefined => {
  if (Array.isArray(expected)) {
    if (!Array.isArray(value)) return path;
    if (expected.length === 0) return value.length === 0 ? undefined : `${path} (not empty)`;
    let from = 0;
    for (const [index, item] of expected.entries()) {
      const at = value.findIndex((one, place) => place >= from && !findDifference(item, one, names, bound, ''));
      if (at < 0) {
        const next = findDifference(item, value[from], names, bound, `${path}[${index}]`);
        return next ?? `${path}[${index}]`;
      }
      from = at + 1;
    }
    return undefined;
  }
  if (typeof expected === 'object' && expected !== null) {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return path;
    const fields = new Map(Object.entries(value));
    for (const [field, item] of Object.entries(expected)) {
      const difference = findDifference(item, fields.get(field), names, bound, `${path}.${field}`);
      if (difference) return difference;
    }
    return undefined;
  }
  if (typeof expected !== 'string') return expected === value ? undefined : path;
  if (/^<[a-z-]+>$/.test(expected) && !names.has(expected) && typeof value === 'string') {
    bound.set(expected, value);
    return undefined;
  }
  return fillIn(expected, names) === value ? undefined : path;
};

/** The keys of agents that a call registered. */
const listKeys = (body: unknown): [id: string, key: string][] => {
  if (typeof body !== 'object' || body === null) return [];
  const { agent, agents, key } = body as { agent?: { id?: unknown }; agents?: unknown; key?: unknown };
  const own: [unknown, unknown][] = [[agent?.id, key]];
  const listed = Array.isArray(agents) ? agents.map((one): [unknown, unknown] => [one?.id, one?.key]) : [];
  return [...own, ...listed].flatMap(([id, value]): [string, string][] =>
    typeof id === 'string' && typeof value === 'string' ? [[id, value]] : [],
  );
};
