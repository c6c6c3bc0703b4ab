import { routes } from '../shared/http/routes/routes.ts';
import { createHttpFunction } from './runtime/http-function.ts';

/** Whatever has no function of its own. It knows all routes, because it describes them, and says what is not among them. */
export const handler = createHttpFunction(routes);
