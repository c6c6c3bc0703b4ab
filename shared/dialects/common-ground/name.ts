/** As an agent's registration names it. */
export const COMMON_GROUND = 'common-ground';
