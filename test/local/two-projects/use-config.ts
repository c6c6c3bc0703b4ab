import { registerHooks } from 'node:module';

const OWN = new URL('./parley.config.ts', import.meta.url).href;
const ROOT = new URL('../../../parley.config.ts', import.meta.url).href;

/** Loaded before Parley: it then finds this folder's configuration in place of the deployment's. */
registerHooks({
  resolve: (specifier, context, next) => {
    const found = next(specifier, context);
    return found.url === ROOT ? { ...found, url: OWN } : found;
  },
});
