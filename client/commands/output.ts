import type { Shell } from './shell.ts';

type Out = Pick<Shell, 'stdout'>;

/** Writes data for a program: a JSON document on stdout. */
export function printJson(shell: Out, data: Readonly<Record<string, unknown>>): void {
  shell.stdout.write(`${JSON.stringify(data, undefined, 2)}\n`);
}

/** Writes data for a person on stdout: a line per member, without members that are `undefined`. */
export function printMembers(shell: Out, data: Readonly<Record<string, unknown>>): void {
  const members = Object.entries(data).filter(([, value]) => value !== undefined);
  const width = Math.max(...members.map(([name]) => name.length));
  for (const [name, value] of members) {
    shell.stdout.write(rowText([name, typeof value === 'string' ? value : JSON.stringify(value)], [width, 9_999]));
  }
}

/** Writes a line of data for a person on stdout. */
export function printLine(shell: Out, line: string): void {
  shell.stdout.write(`${plain(line)}\n`);
}

/** Returns a row of a table, on several lines if a cell is too long. Breaks at blanks, after `a-` and after `a/`. */
export function rowText(cells: readonly string[], widths: readonly number[], gap = 2): string {
  const wrapped = cells.map((cell, column) => {
    const text = plain(cell).trimStart();
    const indent = plain(cell).slice(0, -text.length);
    const width = (widths[column] ?? 0) - indent.length;
    const parts = new RegExp(`.{1,${width}}(?: |$)|.{0,${width - 1}}(?<=[a-z])[-/]|.{1,${width}}`, 'gu');
    return (text.match(parts) ?? ['']).map((part) => indent + part.trimEnd());
  });
  const lines = Array.from({ length: Math.max(...wrapped.map(({ length }) => length)) }, (_, line) =>
    wrapped.map((parts, column) => (parts[line] ?? '').padEnd(widths[column] ?? 0)),
  );
  return lines.map((parts) => `${parts.join(' '.repeat(gap)).trimEnd()}\n`).join('');
}

/** Formats a time: `2026-01-01T00:00:00Z`, at a terminal `20:26Z` within 12 hours from now, and `-` if unknown. */
export function timeText(time: number | undefined, out?: Out): string {
  if (time === undefined) return '-';
  const text = new Date(time).toISOString();
  if (!out?.stdout.columns) return text.replace(/\.\d+Z$/, 'Z');
  const [day, hour] = [text.slice(0, 10), `${text.slice(11, 16)}Z`];
  return Math.abs(time - Date.now()) < 12 * 3_600_000 ? hour : `${day} ${hour}`;
}

/**
 * Writes a line for a person on stderr, where it never mixes with data. Drops the backticks of Markdown, and breaks the
 * line between words at a terminal.
 */
export function note({ stderr }: Pick<Shell, 'stderr'>, line: string): void {
  const columns = stderr.columns || 9_999;
  const words = new RegExp(`(?=.{${columns + 1}})(.{1,${columns}}) `, 'gu');
  stderr.write(`${plain(line).replaceAll('`', '').replaceAll(words, '$1\n')}\n`);
}

/** Replaces control characters: a service's scope or a foreign server's text must not steer the terminal. */
function plain(text: string): string {
  return text.replaceAll(/\p{Cc}|\p{Cf}/gu, '�');
}
