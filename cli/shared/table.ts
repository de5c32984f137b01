import { rowText } from '../../client/commands/output.ts';
import type { Shell } from '../../client/commands/shell.ts';

/**
 * Returns a table whose columns are as wide as their longest cell. At a terminal the widest are wrapped to fit. A row
 * with a single cell is a heading across all columns.
 */
export function tableText(
  header: readonly string[],
  rows: readonly (readonly string[])[],
  out?: Pick<Shell, 'stdout'>,
): string {
  const table = [header, ...rows.filter(({ length }) => length > 1)];
  const widths = header.map((_, column) => Math.max(...table.map((row) => (row[column] ?? '').length)));
  // A word is not broken, unless it is longer than most names.
  const wordIn = (cell = '') => {
    const words = cell.trimStart().split(WORD_END);
    return cell.length - cell.trimStart().length + Math.max(...words.map((word) => word.length));
  };
  const narrowest = header.map((_, column) => Math.min(30, Math.max(...table.map((row) => wordIn(row[column])))));
  const columns = out?.stdout.columns || Number.POSITIVE_INFINITY;
  const widthOf = (list: readonly number[], gap: number) => list.reduce((sum, width) => sum + gap + width, -gap);
  // A narrow terminal gets a single blank between columns.
  const gap = widthOf(narrowest, 2) > columns ? 1 : 2;
  while (widthOf(widths, gap) > columns) {
    const widest = Math.max(...widths.filter((width, column) => width > (narrowest[column] ?? 0)));
    if (widest < 0) break;
    widths[widths.findIndex((width, column) => width === widest && width > (narrowest[column] ?? 0))] = widest - 1;
  }
  const all = [Math.min(columns, 9_999)];
  return [header, ...rows].map((row) => rowText(row, row.length === 1 ? all : widths, gap)).join('');
}

const WORD_END = / |(?<=[a-z][-/])/;
