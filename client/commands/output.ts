import type { Shell } from './shell.ts';

type Out = Pick<Shell, 'stdout'>;

/** Writes data for a program: one JSON document on stdout. */
export function printJson(shell: Out, data: Readonly<Record<string, unknown>>): void {
  shell.stdout.write(`${JSON.stringify(data, undefined, 2)}\n`);
}

/** Writes data for a person: one line per member on stdout, members that are `undefined` left out. */
export function printMembers(shell: Out, data: Readonly<Record<string, unknown>>): void {
  const members = Object.entries(data).filter(([, value]) => value !== undefined);
  const rows = members.map(([name, value]) => [name, typeof value === 'string' ? value : JSON.stringify(value)]);
  shell.stdout.write(tableText(['', ''], rows).replace(/^.*\n/, ''));
}

/** Writes one line of data for a person on stdout. */
export function printLine(shell: Out, line: string): void {
  shell.stdout.write(`${plain(line)}\n`);
}

/** Writes data for a person: a table on stdout. */
export function printTable(shell: Out, header: readonly string[], rows: readonly (readonly string[])[]): void {
  shell.stdout.write(tableText(header, rows));
}

/** A table whose columns are as wide as they must be. */
export function tableText(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const table = [header, ...rows].map((row) => row.map(plain));
  const widths = header.map((_, column) => Math.max(...table.map((row) => (row[column] ?? '').length)));
  const lines = table.map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)));
  return lines.map((cells) => `${cells.join('  ').trimEnd()}\n`).join('');
}

/** A time as a person reads it everywhere: `2026-01-01T00:00:00Z`; `-` when it is unknown. */
export function timeText(time: number | undefined): string {
  return time === undefined ? '-' : new Date(time).toISOString().replace(/\.\d+Z$/, 'Z');
}

/** Writes one line for a person on stderr, where it never mixes with data. */
export function talk(shell: Pick<Shell, 'stderr'>, line: string): void {
  shell.stderr.write(`${plain(line)}\n`);
}

/** Tells on stderr how far a long work is, every three seconds; short work passes in silence. */
export function talkOfProgress(shell: Pick<Shell, 'stderr'>, what: string, now = Date.now) {
  let toldAt = now();
  return (done: number, total: number): void => {
    if (now() - toldAt < 3_000) return;
    toldAt = now();
    talk(shell, `${what}: ${done} of ${total}`);
  };
}

/** A service's scope or a foreign server's text must not steer the terminal. */
function plain(text: string): string {
  return text.replaceAll(/\p{Cc}|\p{Cf}/gu, '�');
}
