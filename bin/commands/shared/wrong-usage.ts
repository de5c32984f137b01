/**
 * What `commander` says of wrong usage, without the values that were given: somebody may type a secret in a wrong place
 * (`client put acme -p…`, `--services …`), and errors end up in logs.
 */
export function withoutValues(error: string): string {
  return REPEATING.reduce((text, [pattern, silent]) => text.replace(pattern, silent), error);
}

/** Greedy: whatever quotes and line breaks the value itself has. */
const REPEATING: readonly (readonly [RegExp, string])[] = [
  [/^(error: unknown option '(?:--[a-z-]+|-[a-z])?).*'/is, "$1'"],
  [/^error: unknown command '.*'/s, 'error: unknown command'],
  [/^(error: option '[^']+') argument '.*' is invalid/s, '$1 is invalid'],
  [/^(error: option '[^']+') value '.*' from env '(\w+)' is invalid/s, '$1 from $2 is invalid'],
  [/^error: command-argument value '.*' is invalid for argument '([\w-]+)'/s, "error: argument '$1' is invalid"],
];
