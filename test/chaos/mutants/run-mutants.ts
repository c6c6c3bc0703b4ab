import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { MUTANTS, type Mutant } from './mutants.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
const LEFT_OUT = ['node_modules', '.git', 'dist', '.parley', 'cdk.out', 'docs', 'console', 'sdk/python'];
const SECONDS = 5;
/** Other seeds are tried before a bug counts as missed: kills and calls meet where the machine lets them. */
const TRIES = 3;
const LONGEST_MS = 240_000;

/** Each bug alone, in a copy of the sources, until a rule that it is expected to break is broken. */
export const runMutants = async (which: string): Promise<boolean> => {
  const chosen = MUTANTS.filter(({ name }) => which === 'all' || which.split(',').includes(name));
  if (chosen.length === 0) throw new Error(`--mutants knows ${MUTANTS.map(({ name }) => name).join(', ')}.`);
  const copy = mkdtempSync(join(tmpdir(), 'parley-mutants-'));
  try {
    cpSync(ROOT, copy, { recursive: true, filter: (path) => !LEFT_OUT.includes(relative(ROOT, path)) });
    symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
    let caught = 0;
    for (const mutant of chosen) {
      const told = await tryMutant(copy, mutant);
      if (told.isCaught) caught += 1;
      console.log(
        `${told.isCaught ? 'caught' : 'MISSED'}  ${mutant.name} (${mutant.engine}, seed ${told.seed}): ${told.text}`,
      );
    }
    console.log(`${caught} of ${chosen.length} bugs were caught.`);
    return caught === chosen.length;
  } finally {
    rmSync(copy, { recursive: true });
  }
};

const tryMutant = async (copy: string, mutant: Mutant): Promise<{ isCaught: boolean; seed: number; text: string }> => {
  const path = join(copy, mutant.file);
  const source = readFileSync(path, 'utf8');
  if (source.split(mutant.from).length !== 2)
    return { isCaught: false, seed: mutant.seed, text: `${mutant.file} has changed: write the bug anew` };
  writeFileSync(
    path,
    source.replace(mutant.from, () => mutant.to),
  );
  try {
    let text = '';
    let seed = mutant.seed;
    for (; seed < mutant.seed + TRIES; seed++) {
      const said = await runCopy(copy, mutant, seed);
      const broken = mutant.breaks.filter((rule) => said.includes(`  ${rule}: `));
      if (broken.length > 0) return { isCaught: true, seed, text: broken.join('; ') };
      text = said.trim().split('\n').slice(0, 3).join(' | ');
    }
    return { isCaught: false, seed, text };
  } finally {
    writeFileSync(path, source);
  }
};

const runCopy = async (copy: string, { engine, faults, seconds = SECONDS }: Mutant, seed: number): Promise<string> => {
  const options = ['--seed', seed, '--engine', engine, '--seconds', seconds, '--faults', faults.join()].map(String);
  const { NODE_TEST_CONTEXT: _context, ...env } = process.env;
  const child = spawn(process.execPath, [join(copy, 'test/chaos/main.ts'), ...options], { cwd: copy, env });
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      said += text;
    });
  const tooLong = setTimeout(() => child.kill('SIGKILL'), LONGEST_MS);
  await once(child, 'close');
  clearTimeout(tooLong);
  return said;
};
