/**
 * What a process of Node.js 24 has resident beside the heap and the buffers: its code, stacks and libraries. Threads share it here, and
 * on Lambda each instance has its own.
 */
export const RUNTIME_MB = 45;

const MB = 1024 * 1024;

/** Lambda counts all of a process, not its heap alone. */
export const getMemoryMb = (): number => {
  const { heapTotal, external } = process.memoryUsage();
  return Math.ceil(RUNTIME_MB + (heapTotal + external) / MB);
};
