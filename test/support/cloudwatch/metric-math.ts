/** The value of each id; `undefined` where the metric has none. */
export type Values = Readonly<Record<string, number | undefined>>;

/**
 * Computes a metric math expression for one period, after the `earlier` ones of the same range, as far as this project uses the language: numbers, ids, `+ - * /`,
 * comparisons, `IF`, `FILL` with a number and `RUNNING_SUM`. Throws at anything else, SEARCH among it, which no alarm may have. Without a
 * value where one is needed there is no result, and none of a division by zero.
 *
 * @see https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/using-metric-math.html
 */
export function compute(expression: string, values: Values, earlier: readonly Values[] = []): number | undefined {
  const tokens = expression.match(TOKEN) ?? [];
  if (tokens.join('') !== expression.replaceAll(/\s/g, '')) throw new SyntaxError(`cannot read ${expression}`);
  let position = 0;
  const next = () => tokens[position];
  const take = (expected?: string): string => {
    const token = tokens[position++];
    if (token === undefined || (expected !== undefined && token !== expected)) {
      throw new SyntaxError(`${expected ?? 'something'} is missing in ${expression}`);
    }
    return token;
  };

  const binary = (operators: readonly string[], operand: () => number | undefined) => (): number | undefined => {
    let left = operand();
    for (let token = next(); token !== undefined && operators.includes(token); token = next()) {
      left = apply(take(), left, operand());
    }
    return left;
  };
  const product = binary(['*', '/'], primary);
  const sum = binary(['+', '-'], product);
  const comparison = binary(['>=', '<=', '==', '!=', '>', '<'], sum);

  function primary(): number | undefined {
    const token = take();
    if (token === '(') return closed(comparison());
    if (token === 'IF') {
      const [condition, then, otherwise] = callArguments(3);
      return condition === undefined ? undefined : condition === 0 ? otherwise : then;
    }
    if (token === 'RUNNING_SUM') {
      const from = position + 1;
      const [value] = callArguments(1);
      const summed = tokens.slice(from, position - 1).join('');
      const before = earlier.map((each, index) => compute(summed, each, earlier.slice(0, index)));
      return value === undefined ? undefined : before.reduce<number>((sum, each) => sum + (each ?? 0), value);
    }
    if (token === 'FILL') {
      const [value, filler] = callArguments(2);
      return value ?? filler;
    }
    if (/^\d/.test(token)) return Number(token);
    if (!Object.hasOwn(values, token)) throw new SyntaxError(`${token} is unknown in ${expression}`);
    return values[token];
  }

  function callArguments(count: number): readonly (number | undefined)[] {
    take('(');
    const found = [comparison()];
    while (found.length < count) {
      take(',');
      found.push(comparison());
    }
    return closed(found);
  }

  function closed<Result>(result: Result): Result {
    take(')');
    return result;
  }

  const result = comparison();
  if (next() !== undefined) throw new SyntaxError(`${next()} is too much in ${expression}`);
  return result;
}

const TOKEN = /[A-Za-z]\w*|\d+(?:\.\d+)?|>=|<=|==|!=|[-+*/()<>,]/g;

function apply(operator: string, left: number | undefined, right: number | undefined): number | undefined {
  if (left === undefined || right === undefined) return undefined;
  switch (operator) {
    case '+':
      return left + right;
    case '-':
      return left - right;
    case '*':
      return left * right;
    case '/':
      return right === 0 ? undefined : left / right;
    case '>=':
      return Number(left >= right);
    case '<=':
      return Number(left <= right);
    case '==':
      return Number(left === right);
    case '!=':
      return Number(left !== right);
    case '>':
      return Number(left > right);
    default:
      return Number(left < right);
  }
}
