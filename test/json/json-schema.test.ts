import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { checkValue } from '../../shared/kernel/json/check-value.ts';
import { compileJsonSchema } from '../../shared/kernel/json/compile-json-schema.ts';

type Row = [schema: object, right: unknown[], wrong: unknown[]];

const TREE = {
  $ref: '#/$defs/node',
  $defs: {
    node: {
      type: 'object',
      properties: { name: { type: 'string' }, children: { type: 'array', items: { $ref: '#/$defs/node' } } },
      required: ['name'],
      additionalProperties: false,
    },
  },
};

const ROWS: Row[] = [
  [{}, [null, 1, 'x', [], {}], []],
  [{ type: 'integer' }, [1, -3, 2.0], [1.5, '1', null]],
  [{ type: ['string', 'null'] }, ['x', null], [1, {}]],
  [{ enum: [1, 'a', { b: [2], a: 1 }] }, [1, 'a', { a: 1, b: [2] }], ['1', { a: 1 }]],
  [{ const: null }, [null], [0, false]],
  [{ enum: [1, 2], const: 3 }, [], [1, 2, 3]],
  [{ minimum: 1, exclusiveMaximum: 3, multipleOf: 0.1 }, [1, 2.9, 'text'], [0, 3, 1.05]],
  [{ minLength: 2, maxLength: 3 }, ['ab', '🛡️a', 5], ['a', 'abcd']],
  [{ format: 'date-time' }, ['2026-02-08T15:00:00Z', 1], ['yesterday', 'x'.repeat(5000)]],
  [
    { format: 'date-time' },
    ['2026-02-28T23:59:60+01:00', '2026-02-08t15:00:00.123z'],
    ['2026-02-30T00:00:00Z', '2026-02-08'],
  ],
  [{ format: 'email' }, ['a.b@example.com'], ['a@b', '@example.com', 'a b@example.com']],
  [{ format: 'uri' }, ['https://example.com/x', 'urn:a:b'], ['/x', 'nothing']],
  [{ format: 'ipv6' }, ['::1'], ['1.2.3.4']],
  [{ format: 'uuid' }, ['4bf92f35-77b3-4da6-a3ce-929d0e0e4736'], ['4bf92f35']],
  [{ format: 'of-my-own' }, ['anything'], []],
  [{ pattern: '^(a+)+$', type: 'string' }, ['whatever'], [1]],
  [{ items: { type: 'number' }, minItems: 1, maxItems: 2 }, [[1], {}], [[], [1, 2, 3], ['1']]],
  [{ prefixItems: [{ type: 'string' }], items: false }, [['a'], []], [['a', 1], [1]]],
  [{ contains: { const: 1 }, minContains: 2 }, [[1, 1], 'no list'], [[1], []]],
  [
    { uniqueItems: true },
    [[1, '1', { a: 1 }]],
    [
      [
        { a: 1, b: 2 },
        { b: 2, a: 1 },
      ],
    ],
  ],
  [{ properties: { pattern: { type: 'string' } } }, [{ pattern: 'x' }], [{ pattern: 1 }]],
  [{ required: ['toString'] }, [{ toString: 1 }, []], [{}]],
  [{ patternProperties: { '^x': {} }, additionalProperties: false }, [{ x1: 1 }], []],
  [{ propertyNames: { maxLength: 2 }, minProperties: 1 }, [{ ab: 1 }], [{ abc: 1 }, {}]],
  [{ dependentRequired: { a: ['b'] } }, [{ b: 1 }, { a: 1, b: 1 }], [{ a: 1 }]],
  [{ dependentSchemas: { a: { required: ['b'] } } }, [{}, { a: 1, b: 1 }], [{ a: 1 }]],
  [{ allOf: [{ minimum: 1 }, { maximum: 2 }] }, [1], [0, 3]],
  [{ anyOf: [{ type: 'string' }, { minimum: 3 }] }, ['x', 3], [1]],
  [{ oneOf: [{ minimum: 1 }, { maximum: 2 }] }, [0, 3], [1, 2]],
  [{ not: { type: 'string' } }, [1], ['x']],
  // biome-ignore lint/suspicious/noThenProperty: so the keyword is called
  [{ if: { type: 'string' }, then: { minLength: 2 }, else: { minimum: 1 } }, ['ab', 1], ['a', 0]],
  [
    TREE,
    [{ name: 'a', children: [{ name: 'b', children: [] }] }],
    [
      { name: 'a', children: [{}] },
      { name: 'a', x: 1 },
    ],
  ],
  [{ $ref: '#/definitions/a~1b', definitions: { 'a/b': false } }, [], [1, {}]],
  [{ properties: { inner: { $ref: '#' } }, required: ['x'] }, [{ x: 1 }], [{ x: 1, inner: {} }]],
];

describe('JSON Schema', () => {
  for (const [schema, right, wrong] of ROWS) {
    it(`accepts valid values and rejects invalid ones: ${JSON.stringify(schema).slice(0, 80)}`, () => {
      const part = compileJsonSchema(schema);
      for (const value of right) assert.deepEqual(checkValue(part, value), [], JSON.stringify(value));
      for (const value of wrong) assert.notDeepEqual(checkValue(part, value), [], JSON.stringify(value));
    });
  }

  it('reports the path and the reason of each schema issue', () => {
    const issues = checkValue(compileJsonSchema(TREE), { name: 1, x: 1, children: [{ name: 'b' }, {}] }, ['input']);
    assert.deepEqual(issues, [
      { path: 'input.name', message: 'must be string' },
      { path: 'input.x', message: 'unknown field' },
      { path: 'input.children[1].name', message: 'is required' },
    ]);
  });

  it('reports at most twenty schema issues', () => {
    assert.equal(checkValue(compileJsonSchema({ items: { type: 'string' } }), Array(5000).fill(1)).length, 20);
  });

  const refused: [what: string, schema: object][] = [
    ['a reference below a definition', { $ref: '#/$defs/a/x', $defs: { a: {} } }],
    ['a reference with an empty step', { $ref: '#//$defs/a', $defs: { a: {} } }],
    ['a reference to nothing', { $ref: '#/$defs/b', $defs: { a: {} } }],
    ['a reference to an inherited property', { $ref: '#/$defs/toString', $defs: {} }],
    ['a reference to another document', { $ref: 'https://example.com/schema.json' }],
    ['a definition that refers to itself', { $ref: '#/$defs/a', $defs: { a: { anyOf: [{ $ref: '#/$defs/a' }] } } }],
    ['a subschema that refers to the whole schema', { not: { $ref: '#' } }],
    ['an unknown type', { type: 'colour' }],
    ['a keyword with a wrong value', { minLength: -1 }],
    ['a part that is no schema', { properties: { a: 5 } }],
    ['an unsupported keyword', { unevaluatedProperties: false }],
    ['501 parts', { allOf: Array(500).fill({}) }],
  ];
  for (const [what, schema] of refused) {
    it(`rejects a schema with ${what}`, () =>
      assert.throws(() => compileJsonSchema(JSON.parse(JSON.stringify(schema)))));
  }
});
