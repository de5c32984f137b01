import type { Shell } from './shell.ts';

type Out = Pick<Shell, 'stdout'>;

/** Writes data for a program: a JSON document on stdout. */
export function printJson(shell: Out, data: Readonly<Record<string, unknown>>): void {
  shell.stdout.write(`${JSON.stringify(data, undefined, 2)}\n`);
}

/** Writes data for a person on stdout: a line per member, without members that are `undefined`. */
export function printMembers(shell: Out, data: Readonly<Record<string, unknown>>): void {
  const members = Object.entries(data).filter(([, value]) => value !== undefined);
  const rows = members.map(([name, value]) => [name, typeof value === 'string' ? value : JSON.stringify(value)]);
  shell.stdout.write(tableText(['', ''], rows).replace(/^.*\n/, ''));
}

/** Writes a line of data for a person on stdout. */
export function printLine(shell: Out, line: string): void {
  shell.stdout.write(`${plain(line)}\n`);
}

/** Returns a table whose columns are as wide as their longest cell. */
export function tableText(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const table = [header, ...rows].map((row) => row.map(plain));
  const widths = header.map((_, column) => Math.max(...table.map((row) => (row[column] ?? '').length)));
  const lines = table.map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)));
  return lines.map((cells) => `${cells.join('  ').trimEnd()}\n`).join('');
}

/** Formats a time for a person: `2026-01-01T00:00:00Z`, or `-` when it is unknown. */
export function timeText(time: number | undefined): string {
  return time === undefined ? '-' : new Date(time).toISOString().replace(/\.\d+Z$/, 'Z');
}

/** Writes a line for a person on stderr, where it never mixes with data. Drops the backticks of Markdown. */
export function talk(shell: Pick<Shell, 'stderr'>, line: string): void {
  shell.stderr.write(`${plain(line).replaceAll('`', '')}\n`);
}

/** Replaces control characters: a service's scope or a foreign server's text must not steer the terminal. */
function plain(text: string): string {
  return text.replaceAll(/\p{Cc}|\p{Cf}/gu, '�');
}
