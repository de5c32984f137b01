/**
 * Whether a record matches a filter pattern of CloudWatch Logs, as far as patterns here go: members joined by `&&` and
 * `||` in parentheses, compared with texts that may hold `*`. A comparison of a member that is not there never holds.
 *
 * @see https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/FilterAndPatternSyntaxForMetricFilters.html
 */
export function patternMatches(pattern: string, record: unknown): boolean {
  const tokens = [...pattern.matchAll(TOKEN)].map(([token]) => token);
  if (tokens.join('') !== pattern.replaceAll(/\s+(?=(?:[^"]*"[^"]*")*[^"]*$)/g, ''))
    throw new Error(`What is ${pattern}?`);
  let at = 0;
  const next = () => tokens[at++] ?? '';
  const expectNext = (wanted: string) => {
    const found = next();
    if (found !== wanted) throw new Error(`${found} in place of ${wanted} in ${pattern}`);
  };

  function expression(): boolean {
    const first = term();
    const operator = tokens[at];
    let value = first;
    while (tokens[at] === '&&' || tokens[at] === '||') {
      // Which of the two binds closer is not documented.
      if (next() !== operator) throw new Error(`&& beside || without parentheses in ${pattern}`);
      const another = term();
      value = operator === '&&' ? value && another : value || another;
    }
    return value;
  }

  function term(): boolean {
    if (tokens[at] !== '(') return comparison();
    next();
    const value = expression();
    expectNext(')');
    return value;
  }

  function comparison(): boolean {
    const value = memberOf(record, next());
    const operator = next();
    if (operator === 'NOT') return expectNext('EXISTS') === undefined && value === undefined;
    if (operator === 'IS') return `${value}` === next().toLowerCase();
    const text = next().slice(1, -1);
    if (typeof value !== 'string') return false;
    return globOf(text).test(value) === (operator === '=');
  }

  expectNext('{');
  const value = expression();
  expectNext('}');
  return value;
}

const TOKEN = /"[^"]*"|\$[\w.]+|&&|\|\||!=|=|[(){}]|NOT|EXISTS|IS|TRUE|FALSE/g;

function memberOf(record: unknown, path: string): unknown {
  const [, ...steps] = path.split('.');
  return steps.reduce<unknown>((value, step) => Object(value)[step], record);
}

function globOf(pattern: string): RegExp {
  return new RegExp(`^${pattern.replaceAll(/[.+?^${}()|[\]\\/]/g, '\\$&').replaceAll('*', '.*')}$`);
}
