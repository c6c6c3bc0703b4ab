import { type Command, UsageError } from '../command.ts';
import { COMMANDS } from '../registry.ts';

const listWords = (): { first: string[]; second: Record<string, string[]> } => {
  const names = Object.keys(COMMANDS).map((name) => name.split(' '));
  const groups = Map.groupBy(
    names.filter(([, second]) => second !== undefined),
    ([first = '']) => first,
  );
  return {
    first: [...new Set(names.map(([first = '']) => first))],
    second: Object.fromEntries([...groups].map(([first, rows]) => [first, rows.map(([, second = '']) => second)])),
  };
};

const SCRIPTS: Record<string, () => string> = {
  bash: () => {
    const { first, second } = listWords();
    const cases = Object.entries(second).map(([group, words]) => `    ${group}) words="${words.join(' ')}" ;;`);
    return `_parley() {
  local words=""
  if [ "$COMP_CWORD" -eq 1 ]; then words="${first.join(' ')}"
  elif [ "$COMP_CWORD" -eq 2 ]; then case "\${COMP_WORDS[1]}" in
${cases.join('\n')}
  esac; fi
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _parley parley
`;
  },
  zsh: () => `autoload -U +X bashcompinit && bashcompinit\n${SCRIPTS.bash?.()}`,
  fish: () => {
    const { first, second } = listWords();
    const top = `complete -c parley -n __fish_use_subcommand -a '${first.join(' ')}'`;
    const groups = Object.entries(second).map(
      ([group, words]) => `complete -c parley -n '__fish_seen_subcommand_from ${group}' -a '${words.join(' ')}'`,
    );
    return `${[top, ...groups].join('\n')}\n`;
  },
};

const completion: Command = {
  name: 'completion',
  summary: 'Print the completion script of a shell',
  args: 'SHELL',
  arity: [1, 1],
  examples: [
    'parley completion bash > ~/.local/share/bash-completion/completions/parley',
    'parley completion fish | source',
  ],
  run: async ({ args: [shell = ''] }) => {
    const script = SCRIPTS[shell];
    if (!script) throw new UsageError(`The shells are ${Object.keys(SCRIPTS).join(', ')}.`);
    process.stdout.write(script());
  },
};

export { completion };
