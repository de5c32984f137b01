import { parseArgs } from 'node:util';
import { SETTINGS_VARIABLE } from '../../lib/settings/names.ts';

/**
 * Makes `--settings FILE` the file of this process, and of those that it starts. Returns the other arguments, in which
 * a `--settings` that names no file is left to be refused.
 */
export function useSettings(args: readonly string[]): readonly string[] {
  const options = { settings: { type: 'string' } } as const;
  const { tokens } = parseArgs({ args: [...args], options, strict: false, tokens: true });
  const option = tokens.find((token) => token.kind === 'option' && token.name === 'settings');
  if (option?.kind !== 'option' || !option.value?.trim() || option.value.startsWith('-')) return args;
  process.env[SETTINGS_VARIABLE] = option.value;
  return args.toSpliced(option.index, option.inlineValue ? 1 : 2);
}
