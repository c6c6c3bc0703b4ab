import config from '../../../parley.config.ts';

export default { ...config, auditLog: { 'round-table': true } };
