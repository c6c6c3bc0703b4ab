/** Why a template could not be started on this machine, in one line for the person who started it. */
export class RunnerError extends Error {}
