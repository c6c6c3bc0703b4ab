/** A mistake that the operator can correct; printed as one line. */
export class RunnerError extends Error {}
