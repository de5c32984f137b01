type Line = Readonly<Record<string, unknown>>;

/**
 * Answers a query as CloudWatch Logs Insights does, as far as the queries of the documentation need it: `filter`, `parse`,
 * `stats`, `sort`. Throws at anything else.
 *
 * @see https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/CWL_QuerySyntax.html
 */
export function runQuery(query: string, lines: readonly Line[]): readonly Line[] {
  return query
    .split(/\n\| /)
    .map((command) => command.trim())
    .reduce<readonly Line[]>((rows, command) => {
      const [, verb = '', rest = ''] = /^(\w+) (.+)$/s.exec(command) ?? [];
      const run = COMMANDS[verb];
      if (run === undefined) throw new TypeError(`not a command: ${command}`);
      return run(rows, rest);
    }, lines);
}

const COMMANDS: Readonly<Record<string, (rows: readonly Line[], rest: string) => readonly Line[]>> = {
  filter: (rows, rest) =>
    rows.filter((row) => rest.split(' or ').some((terms) => terms.split(' and ').every(holds(row)))),
  parse: (rows, rest) => {
    const [, field = '', glob = '', names = ''] = /^(\w+) "(.*)" as (.+)$/.exec(rest) ?? wrong(rest);
    const pattern = new RegExp(`^${glob.replace(/[^\w*]/g, '\\$&').replaceAll('*', '(.*?)')}$`);
    return rows.map((row) => {
      const found = pattern.exec(String(row[field] ?? ''))?.slice(1) ?? [];
      return { ...row, ...Object.fromEntries(names.split(', ').map((name, index) => [name, found[index]])) };
    });
  },
  stats: (rows, rest) => {
    const [, values = '', by = ''] = /^(.+) by (.+)$/.exec(rest) ?? wrong(rest);
    const groups = Map.groupBy(rows, (row) => JSON.stringify(by.split(', ').map((name) => row[name])));
    return [...groups.values()].map((group) => ({
      ...Object.fromEntries(by.split(', ').map((name) => [name, group[0]?.[name]])),
      ...Object.fromEntries(values.split(/, (?=\w+\()/).map((value) => statistic(value, group))),
    }));
  },
  sort: (rows, rest) => {
    const [, field = ''] = /^(\w+) desc$/.exec(rest) ?? wrong(rest);
    return rows.toSorted((a, b) => Number(b[field]) - Number(a[field]));
  },
};

function holds(row: Line): (term: string) => boolean {
  return (term) => {
    const [, present] = /^ispresent\((\w+)\)$/.exec(term) ?? [];
    if (present !== undefined) return row[present] !== undefined;
    const [, field = '', operator, text = ''] = /^(\w+) (=|!=|like) ['/](.*)['/]$/.exec(term) ?? wrong(term);
    const value = String(row[field] ?? '');
    if (operator === 'like') return new RegExp(text).test(value);
    return (value === text) === (operator === '=');
  };
}

function statistic(value: string, group: readonly Line[]): readonly [string, unknown] {
  const [, name = '', field = '', as = ''] = /^(count|min|max)\((\*|@?\w+)\) as (\w+)$/.exec(value) ?? wrong(value);
  if (name === 'count') return [as, group.length];
  const numbers = group.map((row) => row[field]).filter((one) => typeof one === 'number');
  return [as, numbers.length === 0 ? undefined : name === 'min' ? Math.min(...numbers) : Math.max(...numbers)];
}

function wrong(text: string): never {
  throw new TypeError(`not understood: ${text}`);
}
