export { TestClock } from '../../sdk/typescript/testing/test-clock.ts';
