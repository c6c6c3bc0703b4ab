/** Some packages are CommonJS and call `require`, which an ES module lacks. */
const REQUIRE_BANNER = "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);";

const MAIN_FIELDS: string[] = ['module', 'main'];

/** How everything that is deployed is bundled with esbuild. */
export const ESBUILD_OPTIONS = {
  bundle: true,
  format: 'esm',
  platform: 'node',
  target: 'node24',
  mainFields: MAIN_FIELDS,
  minify: true,
  sourcesContent: false,
  legalComments: 'none',
  banner: { js: REQUIRE_BANNER },
  logLevel: 'warning',
} as const;
