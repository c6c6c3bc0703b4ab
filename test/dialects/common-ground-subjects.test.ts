import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import config from '../../parley.config.ts';
import { defineConfig } from '../../shared/config/config.ts';
import { buildHeaders, fillMissingHeaders } from '../../shared/dialects/common-ground/build-headers.ts';
import { listHeaderLikeKeys, parseDepthHeader } from '../../shared/dialects/common-ground/headers.ts';
import {
  formatSubject,
  formatSubjectPattern,
  parseProjectSubject,
  parseSubject,
  SUBJECT_CATEGORIES,
  SUBJECT_COMPONENTS,
} from '../../shared/dialects/common-ground/subject.ts';
import { parseSpokenSubject } from '../../shared/dialects/common-ground/versions.ts';
import { ParleyError } from '../../shared/kernel/errors.ts';
import { parseTrace } from '../../shared/kernel/trace.ts';

const token = fc.stringMatching(/^[A-Za-z0-9_-]{1,20}$/);
const subject = fc.record(
  {
    version: fc.constant('v1r3'),
    project: fc.constant('default'),
    channel: fc.oneof(fc.constant('public'), fc.stringMatching(/^[ut]_[A-Za-z0-9_-]{1,20}$/)),
    category: fc.constantFrom(...SUBJECT_CATEGORIES),
    component: fc.constantFrom(...SUBJECT_COMPONENTS),
    target: token,
    suffix: fc.array(token, { minLength: 1, maxLength: 4 }).map((tokens) => tokens.join('.')),
  },
  { noNullPrototype: true },
);

const refusal = (ask: () => unknown): ParleyError => {
  try {
    ask();
  } catch (error) {
    if (error instanceof ParleyError) return error;
  }
  throw new Error('it was not refused');
};

/** As NATS sees it: `*` is one token, `>` one or more at the end. */
const isWithin = (pattern: string, text: string): boolean =>
  new RegExp(`^${pattern.replaceAll('.', '\\.').replaceAll('*', '[^.]+').replace(/>$/, '.+')}$`).test(text);

describe('CommonGround subjects', () => {
  it('parses a subject as it was formatted, also with a suffix of several tokens', () =>
    fc.assert(fc.property(subject, (parts) => assert.deepEqual(parseSubject(formatSubject(parts)), parts))));

  it('matches a subject with the pattern of any of its parts, and with no pattern of another target', () =>
    fc.assert(
      fc.property(
        subject,
        fc.subarray(['project', 'channel', 'category', 'component', 'target', 'suffix'] as const),
        (parts, known) => {
          const named = Object.fromEntries(known.map((part) => [part, parts[part]]));
          const text = formatSubject(parts);
          assert.ok(isWithin(formatSubjectPattern(named), text), formatSubjectPattern(named));
          assert.ok(!isWithin(formatSubjectPattern({ ...named, target: `${parts.target}x` }), text));
        },
      ),
    ));

  it('formats the subject patterns of the streams in the protocol', () => {
    assert.equal(formatSubjectPattern({ category: 'cmd' }), 'cg.v1r3.*.*.cmd.>');
    assert.equal(formatSubjectPattern({ project: 'p', category: 'evt' }), 'cg.v1r3.p.*.evt.>');
    assert.equal(
      formatSubjectPattern({ category: 'cmd', component: 'agent', suffix: 'wakeup' }),
      'cg.v1r3.*.*.cmd.agent.*.wakeup',
    );
  });

  const flawed: [what: string, text: string, names: RegExp][] = [
    ['another beginning', 'xx.v1r3.default.public.cmd.agent.a.wakeup', /begin with cg/],
    ['too few tokens', 'cg.v1r3.default.public.cmd.agent.a', /must be cg\./],
    ['an unknown category', 'cg.v1r3.default.public.req.agent.a.wakeup', /category req/],
    ['an unknown component', 'cg.v1r3.default.public.cmd.robot.a.wakeup', /component robot/],
    ['an unknown channel', 'cg.v1r3.default.private.cmd.agent.a.wakeup', /channel private/],
    ['a wildcard', 'cg.v1r3.default.public.cmd.agent.*.wakeup', /token "\*"/],
    ['an empty token', 'cg.v1r3.default.public.cmd.agent..wakeup', /token ""/],
    ['another project', 'cg.v1r3.other.public.cmd.agent.a.wakeup', /project other/],
    ['a suffix that is too long', `cg.v1r3.default.public.cmd.agent.a${'.x'.repeat(50)}`, /suffix/],
  ];
  for (const [what, text, names] of flawed) {
    it(`rejects a subject with ${what}, and names it`, () => {
      const { code, message } = refusal(() => parseProjectSubject(text, 'default'));
      assert.equal(code, 'protocol_violation');
      assert.match(message, names);
    });
  }

  it('rejects a subject of another version of the protocol', () => {
    const text = 'cg.v1r2.default.public.cmd.agent.a.wakeup';
    const { code, details } = refusal(() => parseSpokenSubject(text, config));
    assert.equal(code, 'unsupported_version');
    assert.deepEqual(details, { version: 'v1r2', supported: ['v1r3', 'v1r4'] });
    const joined = defineConfig({ ...config, dialects: { 'common-ground': { version: 'v1r2' } } });
    assert.equal(parseSpokenSubject(text, joined).version, 'v1r2');
  });
});

const TRACE = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

describe('CommonGround headers', () => {
  const missing = {
    at: Date.parse('2026-03-01T12:00:00Z'),
    type: 'cmd.tool.call',
    sender: 'worker',
    depth: 0,
    version: 'v1r3',
  };

  it('fills in missing headers, and keeps present ones', () => {
    const trace = parseTrace(TRACE, 'vendor=1');
    assert.deepEqual(fillMissingHeaders({}, missing, trace), {
      traceparent: TRACE,
      tracestate: 'vendor=1',
      'CG-Timestamp': '2026-03-01T12:00:00.000Z',
      'CG-Version': 'v1r3',
      'CG-Msg-Type': 'cmd.tool.call',
      'CG-Sender': 'worker',
      'CG-Recursion-Depth': '0',
    });
    const own = {
      traceparent: TRACE.replace('b7', 'c7'),
      'cg-timestamp': '2025-01-01T00:00:00Z',
      'CG-Version': 'v9',
      'CG-Msg-Type': 'mine',
      'CG-Sender': 'someone',
      'CG-User-ID': 'u',
      'CG-Channel-ID': 'c',
      'CG-Context-ID': 'x',
      'cg-recursion-depth': '0',
    };
    assert.deepEqual(fillMissingHeaders(own, missing, trace), own);
  });

  it('replaces an invalid trace header by a new trace', () => {
    const made = parseTrace('nonsense', undefined);
    assert.match(
      String(fillMissingHeaders({ traceparent: '' }, missing, made).traceparent),
      /^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/,
    );
  });

  it('reads a recursion depth that is a non-negative integer, and rejects any other', () => {
    assert.equal(parseDepthHeader({}), undefined);
    assert.equal(parseDepthHeader({ 'CG-Recursion-Depth': '19' }), 19);
    assert.equal(parseDepthHeader({ 'cg-recursion-depth': 3 }), 3);
    for (const said of ['-1', '1.5', 'two', -1, 1.5, 'NaN', ' 1']) {
      assert.equal(
        refusal(() => parseDepthHeader({ 'CG-Recursion-Depth': said })).code,
        'protocol_violation',
        String(said),
      );
    }
  });

  it('detects header names in payloads', () => {
    assert.deepEqual(listHeaderLikeKeys({ 'CG-User-ID': 'u', 'cg-x': 1, other: 1 }), ['CG-User-ID', 'cg-x']);
  });

  it('builds complete headers for messages from Parley', () => {
    const headers = buildHeaders({ ...parseTrace(TRACE, undefined), ...missing, depth: 4 });
    assert.deepEqual(
      Object.keys(headers).filter((name) => headers[name] !== undefined),
      ['traceparent', 'CG-Timestamp', 'CG-Version', 'CG-Msg-Type', 'CG-Sender', 'CG-Recursion-Depth'],
    );
  });
});
