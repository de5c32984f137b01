import { rowText } from '../../../client/commands/output.ts';
import type { Shell } from '../../../client/commands/shell.ts';

/** Returns a table whose columns are as wide as their longest cell. At a terminal the widest are wrapped to fit. */
export function tableText(
  header: readonly string[],
  rows: readonly (readonly string[])[],
  out?: Pick<Shell, 'stdout'>,
): string {
  const table = [header, ...rows];
  const widths = header.map((_, column) => Math.max(...table.map((row) => (row[column] ?? '').length)));
  const room = (out?.stdout.columns || Number.POSITIVE_INFINITY) - 2 * (widths.length - 1);
  while (widths.reduce((sum, width) => sum + width) > room && Math.max(...widths) > NARROWEST) {
    const widest = Math.max(...widths);
    widths[widths.indexOf(widest)] = widest - 1;
  }
  return table.map((row) => rowText(row, widths)).join('');
}

const NARROWEST = 6;
