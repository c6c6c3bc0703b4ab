/** It lives for minutes: what the second compiler and threads that collect beside it cost, a quarter of a file's CPU, never comes back. */
export const SHORT_LIVED_JAVA = { JAVA_TOOL_OPTIONS: '-XX:TieredStopAtLevel=1 -XX:+UseSerialGC' };
