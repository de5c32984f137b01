import { Argument, type Command } from 'commander';
import type { Shell } from '../client/commands/shell.ts';
import { LOCAL_ENVIRONMENT } from '../lib/settings/names.ts';
import { localCallers } from './local.ts';
import { settingsFile, settingsOf } from './shared/settings.ts';

/** Adds `completion`, which prints a script that completes commands, options and the values known when it is made. */
export function addCompletionCommand(program: Command, shell: Shell): void {
  program
    .command('completion')
    .description('Print a script that makes a shell complete the commands, options and values of token-broker.')
    .addArgument(new Argument('<shell>', 'the shell').choices(Object.keys(SHELLS)))
    .addHelpText('after', HELP)
    .action((name: keyof typeof SHELLS) => {
      shell.stdout.write(SHELLS[name](placesOf(program, '', knownNames(shell))));
    });
}

/** A command, and the words that can follow it. */
interface Place {
  /** The words before it, `''` at the beginning. */
  readonly path: string;
  readonly commands: readonly string[];
  /** The values of its arguments. */
  readonly values: readonly string[];
  readonly options: readonly {
    readonly long: string;
    readonly takesValue: boolean;
    readonly values: readonly string[];
  }[];
}

/** The values of options and arguments, by name. */
type Names = ReadonlyMap<string, readonly string[]>;

/** Returns the environments, their services, and the callers of a local broker that runs, as far as they are known. */
function knownNames(shell: Shell): Names {
  const known = <Name>(find: () => readonly Name[]) => {
    try {
      return find();
    } catch {
      return [];
    }
  };
  const environments = known(() => Object.keys(settingsFile().environments));
  const services = environments.flatMap((name) => known(() => Object.keys(settingsOf(name)?.services ?? {})));
  const all = [...new Set([...services, ...(shell.env.TOKEN_BROKER_SERVICES ?? '').split(' ')])];
  return new Map([
    ['environment', [...environments, LOCAL_ENVIRONMENT]],
    ...['service', 'services'].map((name) => [name, all] as const),
    ['caller', known(() => localCallers(shell))],
  ]);
}

function placesOf(command: Command, path: string, names: Names): readonly Place[] {
  const global = command.parent === null ? [] : (command.parent.parent ?? command.parent).options;
  const options = [...command.options, ...global].flatMap((option) => {
    const { long, argChoices: values = names.get(option.attributeName()) ?? [] } = option;
    return long ? [{ long, takesValue: option.required || option.optional, values }] : [];
  });
  const values = command.registeredArguments.flatMap((one) => one.argChoices ?? names.get(one.name()) ?? []);
  const commands = command.commands.map((one) => one.name());
  const help = { long: '--help', takesValue: false, values: [] };
  const place = { path, commands, values, options: [...options, help] };
  return [place, ...command.commands.flatMap((one) => placesOf(one, `${path} ${one.name()}`.trim(), names))];
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
  const lists = places.map(({ path, commands, values, options }) => {
    const words = [...commands, ...values, ...options.map(({ long }) => long)];
    return `    "${path}") list="${words.join(' ')}" ;;`;
  });
  const taking = places.flatMap(({ options }) => options.filter(({ takesValue }) => takesValue));
  const ofOptions = [...Map.groupBy(taking, ({ long }) => long)].map(([long, same]) => {
    return `    ${long}) list="${[...new Set(same.flatMap(({ values }) => values))].join(' ')}" ;;`;
  });
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
  case "\${COMP_WORDS[$((COMP_CWORD - 1))]}" in
${ofOptions.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$list" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -F _token_broker token-broker
`;
}

function fishLines({ path, commands, values, options }: Place): string {
  const seen = path.split(' ').map((word) => `__fish_seen_subcommand_from ${word}`);
  const isOpen = `not __fish_seen_subcommand_from ${commands.join(' ')}`;
  const here = path === '' ? isOpen : seen.join('; and ');
  const open = commands.length === 0 ? here : [...new Set([here, isOpen])].join('; and ');
  const words = [...commands, ...values];
  const lines = options.map(({ long, takesValue, values }) => {
    const list = takesValue ? ` -x -a '${values.join(' ')}'` : '';
    return `complete -c token-broker -n '${here}' -l ${long.slice(2)}${list}\n`;
  });
  return (words.length === 0 ? '' : `complete -c token-broker -n '${open}' -a '${words.join(' ')}'\n`) + lines.join('');
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
