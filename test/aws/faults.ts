import type { AwsCall, AwsError } from '../../local/cloudformation-runner/index.ts';
import type { RunningParley } from './running-parley.ts';

/** An error that nobody tries again: the service is there and says no. */
const BROKEN: AwsError = { status: 400, code: 'KmsAccessDenied', message: 'as the test wanted it' };

export interface Fault {
  /** How many calls it has met. */
  readonly met: number;
  end(): void;
}

const fault = (parley: RunningParley, meet: (call: AwsCall) => Promise<AwsError> | AwsError | undefined): Fault => {
  let met = 0;
  parley.gateway.faults = (call) => {
    const error = meet(call);
    if (error) met += 1;
    return error;
  };
  return {
    get met() {
      return met;
    },
    end: () => {
      parley.gateway.faults = undefined;
    },
  };
};

/** Every such call fails, until the fault ends. */
export const broken = (
  parley: RunningParley,
  isMeant: (call: AwsCall) => boolean,
  error: (call: AwsCall) => AwsError = () => BROKEN,
): Fault => fault(parley, (call) => (isMeant(call) ? error(call) : undefined));

/** No such call is answered, until the fault ends, so that invocations run into their timeouts and are ended there. */
export const unanswered = (parley: RunningParley, isMeant: (call: AwsCall) => boolean): Fault => {
  const over = Promise.withResolvers<AwsError>();
  const made = fault(parley, (call) => (isMeant(call) ? over.promise : undefined));
  return {
    get met() {
      return made.met;
    },
    end: () => {
      made.end();
      over.resolve(BROKEN);
    },
  };
};

/** The first such call is held up until it may go on; its caller tries it again then. */
export const heldOnce = (
  parley: RunningParley,
  isMeant: (call: AwsCall) => boolean,
): { reached: Promise<void>; goOn: () => void } => {
  const reached = Promise.withResolvers<void>();
  const over = Promise.withResolvers<AwsError>();
  const made = fault(parley, (call) => {
    if (made.met > 0 || !isMeant(call)) return undefined;
    reached.resolve();
    return over.promise;
  });
  return {
    reached: reached.promise,
    goOn: () => {
      made.end();
      over.resolve({ status: 503, code: 'SlowDown', message: 'as the test wanted it' });
    },
  };
};

export const by = (name: string, operation?: string) => (call: AwsCall) =>
  call.caller.endsWith(`-${name}`) && (operation === undefined || call.operation === operation);
