import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { findAwsCli } from './aws-cli.ts';
import type { Check, Outcome, VerifyOptions } from './check.ts';
import { CHECKS } from './checks.ts';
import { ParleyClient } from './parley-client.ts';

const HELP = `Tries a deployment of Parley and writes what it saw.

  npm run verify:account -- --url URL --admin-key KEY [options]

  --stage dev            the name of the deployment, for the metrics of its account
  --seconds 60           how long tasks are requested
  --rate 10              how many a second
  --claims 20            how many claims wait for a task each, with one queue and with two
  --idle-agents 0        agents that only wait, and
  --idle-seconds 3600    how long
  --burst 0              calls a second to each of two routes, to see their throttles
  --break-seconds 0      how long dispatch is stopped
  --report verify.md     the file to write

With credentials for the AWS command line, it also reads the metrics of the account. It makes agents called verify-…,
and costs some cents.
`;

const { values } = parseArgs({
  options: {
    help: { type: 'boolean', default: false },
    url: { type: 'string' },
    'admin-key': { type: 'string' },
    stage: { type: 'string', default: 'dev' },
    seconds: { type: 'string', default: '60' },
    rate: { type: 'string', default: '10' },
    claims: { type: 'string', default: '20' },
    'idle-agents': { type: 'string', default: '0' },
    'idle-seconds': { type: 'string', default: '3600' },
    burst: { type: 'string', default: '0' },
    'break-seconds': { type: 'string', default: '0' },
    report: { type: 'string', default: 'verify.md' },
  },
});

const tryCheck = async (check: Check, context: Parameters<Check['run']>[0]): Promise<Outcome> => {
  try {
    return await check.run(context);
  } catch (error) {
    return { verdict: 'not as expected', facts: [`It ended with: ${String(error)}`] };
  }
};

const verify = async (options: VerifyOptions, adminKey: string): Promise<number> => {
  const aws = await findAwsCli();
  const context = { options, aws, admin: new ParleyClient(options.url, adminKey) };
  const sections = [`# ${options.url}\n\n${new Date().toISOString()}, stage ${options.stage}`];
  let failures = 0;
  for (const [index, check] of CHECKS.entries()) {
    const { verdict, facts } = await tryCheck(check, context);
    if (verdict === 'not as expected') failures += 1;
    console.log(`${index + 1}. ${check.title}: ${verdict}`);
    const list = facts.map((fact) => `- ${fact}`).join('\n');
    sections.push(`## ${index + 1}. ${check.title}: ${verdict}\n\nExpected: ${check.expected}\n\n${list}`);
    writeFileSync(values.report, `${sections.join('\n\n')}\n`);
  }
  console.log(`written to ${values.report}`);
  return failures;
};

const { url, 'admin-key': adminKey } = values;
if (values.help || url === undefined || adminKey === undefined) {
  console.log(HELP);
  process.exitCode = values.help ? 0 : 2;
} else {
  const options = {
    url: url.replace(/\/$/, ''),
    stage: values.stage,
    seconds: Number(values.seconds),
    rate: Number(values.rate),
    claims: Number(values.claims),
    idleAgents: Number(values['idle-agents']),
    idleSeconds: Number(values['idle-seconds']),
    burst: Number(values.burst),
    breakSeconds: Number(values['break-seconds']),
  };
  process.exitCode = (await verify(options, adminKey)) > 0 ? 1 : 0;
}
