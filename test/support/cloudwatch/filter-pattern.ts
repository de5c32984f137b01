import { runInNewContext } from 'node:vm';

/**
 * Whether a record matches a filter pattern of CloudWatch Logs, as far as patterns here go: members joined by `&&` and
 * `||` in parentheses, compared with texts that may hold `*`. A comparison of a member that is not there never holds.
 * Such a pattern is JavaScript once its comparisons are calls; what is left of any other one throws.
 *
 * @see https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/FilterAndPatternSyntaxForMetricFilters.html
 */
export function patternMatches(pattern: string, record: unknown): boolean {
  const [, conditions = ''] = /^\{(.*)\}$/.exec(pattern) ?? [];
  const script = conditions
    .replaceAll(/\$\.([\w.]+) = ("[^"]*")/g, 'equals("$1", $2)')
    .replaceAll(/\$\.([\w.]+) != ("[^"]*")/g, 'differs("$1", $2)')
    .replaceAll(/\$\.([\w.]+) NOT EXISTS/g, '!exists("$1")')
    .replaceAll(/\$\.([\w.]+) IS (TRUE|FALSE)/g, 'is("$1", "$2")');
  refuseMixed(script.replaceAll(/\w+\("[^)]*\)/g, ''));
  const member = (path: string) => path.split('.').reduce<unknown>((value, step) => Object(value)[step], record);
  return runInNewContext(script, {
    equals: (path: string, text: string) => globMatches(text, member(path)) === true,
    differs: (path: string, text: string) => globMatches(text, member(path)) === false,
    exists: (path: string) => member(path) !== undefined,
    is: (path: string, word: string) => `${member(path)}` === word.toLowerCase(),
  });
}

/** Which of the two binds closer is not documented. */
function refuseMixed(script: string): void {
  const innermost = script.match(INNERMOST) ?? [script];
  if (innermost.some((one) => one.includes('&&') && one.includes('||'))) {
    throw new Error('&& beside || without parentheses');
  }
  if (script.includes('(')) refuseMixed(script.replaceAll(INNERMOST, ''));
}

const INNERMOST = /\([^()]*\)/g;

/** `undefined` for what is no text. */
function globMatches(pattern: string, value: unknown): boolean | undefined {
  if (typeof value !== 'string') return undefined;
  const source = pattern.replaceAll(/[.+?^${}()|[\]\\/]/g, '\\$&').replaceAll('*', '.*');
  return new RegExp(`^${source}$`).test(value);
}
