import config from '../../../parley.config.ts';

/** As shipped, with a waiter. */
export default {
  ...config,
  ...(config.aws && { aws: { ...config.aws, stage: 'test', waiter: { cpu: 256, memoryMB: 512 } as const } }),
};
