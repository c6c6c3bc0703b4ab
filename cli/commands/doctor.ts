import { type Command, EXIT, ExitError } from '../command.ts';
import { connectFrom } from '../connection.ts';
import type { Check } from '../doctor/check.ts';
import { checkDeployment } from '../doctor/check-deployment.ts';
import { checkMachine } from '../doctor/check-machine.ts';
import { checkWork } from '../doctor/check-work.ts';
import type { Style } from '../output.ts';

const STYLES: Record<Check['state'], Style> = { ok: 'green', warn: 'yellow', bad: 'red' };

const doctor: Command = {
  name: 'doctor',
  summary: 'Check this machine and the deployment, and say what to do',
  examples: [
    'parley doctor',
    'parley doctor --profile production',
    'parley doctor --json | jq \'.[] | select(.state != "ok")\'',
  ],
  run: async ({ options, out }) => {
    const parley = connectFrom(options);
    const { checks: deployment, whoami } = await checkDeployment(parley);
    const checks = [...checkMachine(), ...deployment, ...(whoami ? await checkWork(parley) : [])];
    if (out.isJson) out.json(checks);
    else {
      for (const { name, state, says, todo } of checks) {
        out.line(`${out.style(STYLES[state], state.padEnd(4))}  ${name.padEnd(9)}  ${says}`);
        if (todo) out.line(`${' '.repeat(17)}${out.style('bold', `→ ${todo}`)}`);
      }
    }
    if (checks.some(({ state }) => state === 'bad')) throw new ExitError(EXIT.failed);
  },
};

export { doctor };
