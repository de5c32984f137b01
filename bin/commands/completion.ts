import { Argument, type Command } from 'commander';
import type { Shell } from '../../client/commands/shell.ts';

/** Adds `completion`, which prints a script that completes the commands and options of this command line. */
export function addCompletionCommand(program: Command, { stdout }: Shell): void {
  program
    .command('completion')
    .description('Print a script that makes a shell complete the commands and options of token-broker.')
    .addArgument(new Argument('<shell>', 'the shell').choices(Object.keys(SHELLS)))
    .addHelpText('after', HELP)
    .action((shell: keyof typeof SHELLS) => {
      stdout.write(SHELLS[shell](placesOf(program, '')));
    });
}

/** A command, and the words that can follow it. */
interface Place {
  /** The words before it, `''` at the beginning. */
  readonly path: string;
  readonly commands: readonly string[];
  readonly options: readonly string[];
}

function placesOf(command: Command, path: string): readonly Place[] {
  const global = command.parent === null ? [] : (command.parent.parent ?? command.parent).options;
  const options = [...command.options, ...global].flatMap(({ long }) => long ?? []);
  const place = { path, commands: command.commands.map((one) => one.name()), options: [...options, '--help'] };
  return [place, ...command.commands.flatMap((one) => placesOf(one, `${path} ${one.name()}`.trim()))];
}

const SHELLS = {
  bash,
  // zsh emulates bash's completion.
  zsh: (places: readonly Place[]) => `autoload -Uz bashcompinit && bashcompinit\n${bash(places)}`,
  fish: (places: readonly Place[]) => `complete -c token-broker -f\n${places.map(fishLines).join('')}`,
} as const;

/** Follows the typed words to their place. zsh reads a letter after the colon as a modifier, so the length is a sum. */
function bash(places: readonly Place[]): string {
  const known = places.flatMap(({ path }) => (path === '' ? [] : [`"${path}"`]));
  const lists = places.map(
    ({ path, commands, options }) => `    "${path}") list="${[...commands, ...options].join(' ')}" ;;`,
  );
  return `_token_broker() {
  local place="" list="" word
  for word in "\${COMP_WORDS[@]:1:$((COMP_CWORD - 1))}"; do
    case "\${place:+$place }$word" in
      ${known.join('|')}) place="\${place:+$place }$word" ;;
    esac
  done
  case "$place" in
${lists.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$list" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -F _token_broker token-broker
`;
}

function fishLines({ path, commands, options }: Place): string {
  const seen = path.split(' ').map((word) => `__fish_seen_subcommand_from ${word}`);
  const isOpen = `not __fish_seen_subcommand_from ${commands.join(' ')}`;
  const here = path === '' ? isOpen : seen.join('; and ');
  const open = [...new Set([here, isOpen])].join('; and ');
  const words = `complete -c token-broker -n '${open}' -a '${commands.join(' ')}'\n`;
  const lines = options.map((option) => `complete -c token-broker -n '${here}' -l ${option.slice(2)}\n`);
  return (commands.length === 0 ? '' : words) + lines.join('');
}

const HELP = `
The script completes the name token-broker, so define a function or an alias of that name. In bash and zsh:
  token-broker() { npm run --silent token-broker -- "$@"; }
In fish:
  alias token-broker='npm run --silent token-broker --'

Then, for example in ~/.bashrc, ~/.zshrc (after compinit) or ~/.config/fish/config.fish:
  source <(token-broker completion bash)
  source <(token-broker completion zsh)
  token-broker completion fish | source`;
