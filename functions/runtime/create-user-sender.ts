import { createGuardedSender } from '../../shared/engines/outbound/guarded-sender.ts';
import type { HttpSender } from '../../shared/ports/http-sender.ts';

/** For functions that call what users named. */
export const createUserSender = (allowsPrivate: boolean): HttpSender => createGuardedSender({ allowsPrivate });
