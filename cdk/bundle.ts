import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { join, parse } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type BuildOptions, build, type Plugin } from 'esbuild';
import { buildConsole } from '../console/build.ts';
import type { Config } from '../shared/config/config.ts';
import { ESBUILD_OPTIONS } from '../shared/kernel/esbuild-options.ts';
import { CONFIG_MODULE, writeConfigModules } from './config-module.ts';
import { FUNCTION_NAMES } from './function-specs.ts';

const ROOT = join(import.meta.dirname, '..');
const DIST = join(ROOT, 'dist');
const BUNDLE_FOLDER = join(DIST, 'functions');

const CONFIG_FILE = join(ROOT, 'parley.config.ts');

/** A function has the values alone: the schema that checks them is 20 KB, and takes its time at each cold start. */
const separateConfigPlugin: Plugin = {
  name: 'configuration-apart',
  setup: ({ onResolve }) => {
    onResolve({ filter: /\/parley\.config\.ts$/ }, () => ({ path: `./${CONFIG_MODULE}`, external: true }));
  },
};

const OPTIONS = {
  ...ESBUILD_OPTIONS,
  outExtension: { '.js': '.mjs' },
  sourcemap: 'linked',
  absWorkingDir: ROOT,
} satisfies BuildOptions;

/**
 * The SDK imports these only without credentials in the environment, for event streams, or in a browser. None of that
 * occurs on Lambda.
 */
const NEVER_IMPORTED = [
  '@aws-sdk/credential-provider-http',
  '@aws-sdk/credential-provider-ini',
  '@aws-sdk/credential-provider-process',
  '@aws-sdk/credential-provider-sso',
  '@aws-sdk/credential-provider-web-identity',
  '@smithy/credential-provider-imds',
  '@smithy/core/event-streams',
  'bowser',
];

const externalUnusedPlugin: Plugin = {
  name: 'without-what-is-never-imported',
  setup: ({ onResolve }) => {
    onResolve({ filter: /^[@\w]/ }, ({ kind, path }) =>
      kind === 'dynamic-import' && NEVER_IMPORTED.includes(path) ? { path, external: true } : undefined,
    );
  },
};

/** SDK clients import their package.json for its version alone. */
const versionOnlyPlugin: Plugin = {
  name: 'version-alone',
  setup: ({ onLoad }) => {
    onLoad({ filter: /\/@aws-sdk\/client-[^/]+\/package\.json$/ }, async ({ path }) => {
      const { version } = JSON.parse(await readFile(path, 'utf8'));
      return { contents: JSON.stringify({ version }), loader: 'json' };
    });
  },
};

/** They describe calls and tools in JSON Schema. */
const SCHEMA_FUNCTIONS = ['api'];

const emptyModulesPlugin = (name: string, filter: RegExp): Plugin => ({
  name,
  setup: ({ onLoad }) => {
    onLoad({ filter }, async ({ path }) => {
      const exported = (await readFile(path, 'utf8')).matchAll(/^export (?:const|function|class) (\w+)/gm);
      return { contents: [...exported].map(([, name]) => `export function ${name}() {}`).join('\n') };
    });
  },
});

/** Every zod schema includes 18 KB for JSON Schema; all functions but these never use them. */
const dropJsonSchemaPlugin = emptyModulesPlugin(
  'without-json-schema',
  /\/zod\/v4\/core\/(to-json-schema|json-schema-processors)\.js$/,
);

/** 8 KB of the SDK for runtimes without `node:crypto`, and for a retry mode that nobody asks for. */
const dropFallbacksPlugin = emptyModulesPlugin(
  'without-fallbacks',
  /\/@smithy\/core\/dist-es\/submodules\/(checksum\/\w+\/(Sha256Js|Md5Js|Crc32Js)|retry\/util-retry\/DefaultRateLimiter)\.js$/,
);

/** 8 KB to remember endpoints that DynamoDB tells. It tells none unless a setting asks for it. */
const dropEndpointCachePlugin = emptyModulesPlugin(
  'without-endpoint-cache',
  /\/@aws-sdk\/endpoint-cache\/dist-es\/EndpointCache\.js$/,
);

const REGISTERED_ERROR = /export var (\w+)\$ = \[-3,[^;]*\];\s*n0_registry\.registerError\(\1\$, \1\);/g;
/** Errors of calls that no function makes: of backups, exports, imports, global tables, replicas, and of creating tables. */
const NEVER_RETURNED =
  /^(?:Backup|ContinuousBackups|Export|GlobalTable|Import|InvalidExport|InvalidRestore|PointInTime|Policy|Replica|Table|Purge|QueueDeleted|QueueName)/;

/** 12 KB of classes. An error without a class still has its name, message and status, which is all that is asked of those of SQS. */
const dropErrorClassesPlugin: Plugin = {
  name: 'without-errors-of-other-calls',
  setup: ({ onLoad }) => {
    onLoad({ filter: /\/@aws-sdk\/client-(?:dynamodb|sqs)\/dist-es\/schemas\/schemas_0\.js$/ }, async ({ path }) => ({
      contents: (await readFile(path, 'utf8')).replace(REGISTERED_ERROR, (registration, name: string) =>
        path.includes('client-sqs') || NEVER_RETURNED.test(name) ? '' : registration,
      ),
    }));
  },
};

const STRING = String.raw`\s*(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|\`(?:[^\`\\]|\\.)*\`),?\s*`;
const DOCUMENTATION = new RegExp(`\\b(?:meaning|action|help):${STRING}(?=\\}|\\w)|\\.describe\\(${STRING}\\)`, 'g');

const DESCRIPTION = new RegExp(`\\.describe\\(${STRING}\\)`, 'g');

/** What fields mean is in the API's description, which few functions serve. */
const dropDescriptionsPlugin: Plugin = {
  name: 'without-descriptions',
  setup: ({ onLoad }) => {
    onLoad({ filter: /\/shared\/(?:dialects|http|tasks|nats)\/.+\.ts$/ }, async ({ path }) => ({
      contents: (await readFile(path, 'utf8')).replace(DESCRIPTION, ''),
      loader: 'ts',
    }));
  },
};

/** The texts of the reference pages are 20 KB in every function, and no function reads them. */
const dropDocumentationPlugin: Plugin = {
  name: 'without-documentation',
  setup: ({ onLoad }) => {
    onLoad({ filter: /\/shared\/(kernel\/(?:error-codes|metrics)|config\/[a-z-]+)\.ts$/ }, async ({ path }) => ({
      contents: (await readFile(path, 'utf8')).replace(DOCUMENTATION, ''),
      loader: 'ts',
    }));
  },
};

/** The settings of the deployment are checked when it is synthesized: no function needs to check them again. */
const dropAwsChecksPlugin: Plugin = {
  name: 'without-checks-of-the-deployment',
  setup: ({ onLoad }) => {
    onLoad({ filter: /\/shared\/config\/aws-config\.ts$/ }, async ({ path }) => {
      const exported = (await readFile(path, 'utf8')).matchAll(/^export const (\w+)/gm);
      const values = [...exported].map(
        ([, name]) => `${name} = ${name === 'AwsConfig' ? 'z.looseObject({})' : '() => []'}`,
      );
      return { contents: `import * as z from 'zod'; export const ${values.join(', ')};`, resolveDir: ROOT };
    });
  },
};

/**
 * A module loaded on demand. Its bundle has its own copy of each package, because a shared chunk would be loaded at
 * cold start.
 */
const LAZY_SUFFIX = '.lazy.ts';

/** With a second copy of Parley's code, `instanceof` would fail for its errors. */
const packagesOnlyPlugin: Plugin = {
  name: 'only-packages',
  setup: ({ onResolve }) => {
    onResolve({ filter: /^\.\.?\/.*\.ts$/ }, ({ path, importer }) => ({
      errors: [{ text: `${importer} has a bundle of its own and must not import ${path}, but for its types` }],
    }));
  },
};

/** Built once for a run, however many bundles are made. */
let consoleFiles: Promise<string> | undefined;
const buildEmbeddedFiles = async (): Promise<string> => {
  const { files } = await buildConsole();
  const encoded = Object.fromEntries([...files].map(([name, bytes]) => [name, bytes.toString('base64')]));
  return `export const EMBEDDED_FILES = ${JSON.stringify(encoded)};`;
};

const embedConsolePlugin: Plugin = {
  name: 'console',
  setup: ({ onLoad }) => {
    onLoad({ filter: /\/console\/embedded-files\.ts$/ }, async () => {
      consoleFiles ??= buildEmbeddedFiles();
      return { contents: await consoleFiles };
    });
  },
};

const separateBundlePlugin = (found: Set<string>): Plugin => ({
  name: 'apart',
  setup: ({ onResolve }) => {
    onResolve({ filter: /^\.\.?\/.*\.ts$/ }, ({ kind, path, resolveDir }) => {
      if (kind !== 'dynamic-import' || !path.endsWith(LAZY_SUFFIX)) return undefined;
      found.add(join(resolveDir, path));
      return { path: `./${parse(path).name}.mjs`, external: true };
    });
  },
});

/** Returns what it is made of. */
const bundleFunction = async (name: string, folder: string): Promise<string[]> => {
  const outdir = join(folder, name);
  const needed = new Set<string>();
  const entry = join(ROOT, 'functions', `${name}.ts`);
  const { metafile } = await build({
    ...OPTIONS,
    outdir,
    metafile: true,
    entryPoints: { index: entry },
    splitting: true,
    plugins: [
      separateConfigPlugin,
      embedConsolePlugin,
      separateBundlePlugin(needed),
      externalUnusedPlugin,
      versionOnlyPlugin,
      dropFallbacksPlugin,
      dropEndpointCachePlugin,
      dropErrorClassesPlugin,
      dropAwsChecksPlugin,
      dropDocumentationPlugin,
      ...(SCHEMA_FUNCTIONS.includes(name) ? [] : [dropJsonSchemaPlugin, dropDescriptionsPlugin]),
    ],
  });
  const entries = Object.fromEntries([...needed].map((file) => [parse(file).name, file]));
  const lazy = await build({
    ...OPTIONS,
    outdir,
    metafile: true,
    entryPoints: entries,
    plugins: [packagesOnlyPlugin, externalUnusedPlugin, versionOnlyPlugin],
  });
  return [metafile, lazy.metafile].flatMap(({ inputs }) => Object.keys(inputs));
};

/** Without their configuration. Returns what they are made of. */
export const bundleFunctions = async (folder: string): Promise<string[]> =>
  (await Promise.all(FUNCTION_NAMES.map((name) => bundleFunction(name, folder)))).flat();

const bundleConfigured = async (folder: string, configFile = CONFIG_FILE): Promise<void> => {
  const { default: config }: { default: Config } = await import(pathToFileURL(configFile).href);
  await bundleFunctions(folder);
  writeConfigModules(folder, config);
};

export const bundleAll = async (): Promise<void> => {
  await rm(BUNDLE_FOLDER, { recursive: true, force: true });
  await bundleConfigured(BUNDLE_FOLDER);
};

/** Concurrent runs get separate folders. The depth stays the same, because source maps hold relative paths. */
export const withBundles = async <T>(use: (folder: string) => T, config?: string): Promise<T> => {
  await mkdir(DIST, { recursive: true });
  const folder = await mkdtemp(join(DIST, 'functions-'));
  try {
    await bundleConfigured(folder, config);
    return use(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
};

if (import.meta.main) await bundleAll();
