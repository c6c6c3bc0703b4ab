import { routes } from '../shared/http/routes/routes.ts';
import { createUserSender } from './runtime/create-user-sender.ts';
import { createHttpFunction, type HttpFunction } from './runtime/http-function.ts';

const serveApi = await createHttpFunction(routes, { createSender: createUserSender });

const isConsolePath = (path: string): boolean => path === '/console' || path.startsWith('/console/');

/** Whatever has no function of its own. It knows all routes, because it describes them, and says what is not among them. */
export const handler: HttpFunction = async (event, context) =>
  isConsolePath(event.rawPath)
    ? (await import('./runtime/console-function.ts')).handleConsole(event, context)
    : serveApi(event, context);
