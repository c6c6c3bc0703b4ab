import config from '../../../parley.config.ts';

/** As it is deployed, but that every message of the lives that are measured is logged. */
export default { ...config, auditLog: { 'round-table': true } };
