/** The console is at `<base>console/`, wherever a proxy puts it. */
export const BASE = new URL('..', new URL('.', location.href.replace(/#.*$/, ''))).href;
