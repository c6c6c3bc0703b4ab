import { Config } from '../../shared/config/config.ts';
import { toJsonSchema } from '../../shared/http/openapi-schemas.ts';
import { describeType, type Field, JsonSchema } from './json-schema.ts';
import { code, page, sentence, table } from './markdown.ts';

const INTRODUCTION = `\`parley.config.ts\` exports the configuration of a deployment. \`defineConfig\` checks it at every start and reports all
mistakes together. Only \`projects\` is required; a deployment to AWS also needs \`aws.stage\`.

\`\`\`ts
import { defineConfig } from './shared/config/config.ts';

export default defineConfig({
  projects: { default: { domains: { security: { description: 'briefings and scans' } } } },
  tasks: { leaseMs: 60_000 },
});
\`\`\`

Keys that end in \`Ms\` are milliseconds, keys that end in \`Bytes\` or \`bytes\` are bytes. \`<name>\` stands for a name that
the deployment chooses.`;

const UNITS: [suffix: RegExp, units: [size: number, name: string][]][] = [
  [
    /Ms$/,
    [
      [86_400_000, 'd'],
      [3_600_000, 'h'],
      [60_000, 'min'],
      [1000, 's'],
    ],
  ],
  [
    /bytes/i,
    [
      [1024 * 1024, 'MiB'],
      [1024, 'KiB'],
    ],
  ],
];

export const renderConfiguration = (): string => {
  const sections = JsonSchema.parse(toJsonSchema(Config, 'input')).properties ?? {};
  return page(
    '# Configuration',
    INTRODUCTION,
    ...Object.entries(sections).flatMap(([name, schema]) => [
      `## ${name}`,
      sentence(schema.description),
      table(['key', 'type', 'default', 'meaning'], listKeys(schema, name).map(toRow)),
    ]),
  );
};

/** The keys below an object or a map, each with its whole path. */
const listKeys = (schema: JsonSchema, path: string): Field[] => {
  const { properties = {}, required = [], additionalProperties } = schema;
  const own = Object.entries(properties).flatMap(([name, value]) =>
    withInner({ path: `${path}.${name}`, schema: value, isRequired: required.includes(name) }),
  );
  return typeof additionalProperties === 'object'
    ? [...own, ...withInner({ path: `${path}.<name>`, schema: additionalProperties, isRequired: false })]
    : own;
};

/** An object without a description of its own is only a part of the path. */
const withInner = (field: Field): Field[] => {
  const inner = listKeys(field.schema, field.path);
  return inner.length > 0 && field.schema.description === undefined ? inner : [field, ...inner];
};

const toRow = (field: Field): string[] => [
  code(field.path),
  describeType(field.schema),
  describeDefault(field),
  sentence(field.schema.description),
];

const describeDefault = ({ path, schema, isRequired }: Field): string => {
  const value = schema.default;
  if (value === undefined) return isRequired ? 'required' : '–';
  if (typeof value === 'object' && value !== null && Object.keys(value).length === 0) return '–';
  const units = UNITS.find(([suffix]) => suffix.test(path))?.[1] ?? [];
  const [size, unit] = units.find(([one]) => typeof value === 'number' && value % one === 0) ?? [];
  return size === undefined ? code(JSON.stringify(value)) : `${code(String(value))} (${Number(value) / size} ${unit})`;
};
