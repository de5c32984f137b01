import { readFileSync } from 'node:fs';

/** README.md, and its parts that a test compares with the project. */
export const README = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');

/** The blocks of code in one language, in their order. */
export function blocks(language: string, page = README): readonly string[] {
  return [...page.matchAll(/^```(\w+)\n(.*?)^```$/gms)].flatMap(([, name, text = '']) =>
    name === language ? text : [],
  );
}

/** Every command of the shell blocks as one line, without its comment. */
export function commands(page = README): readonly string[] {
  const lines = blocks('sh', page).flatMap((block) => block.replaceAll(/\\\n\s*/g, '').split('\n'));
  return lines.map((line) => line.replace(/\s+#.*$/, '')).filter((line) => line !== '');
}

/** The rows of the table whose first heading is given, as cells without their code marks. */
export function table(firstHeading: string, page = README): readonly (readonly string[])[] {
  const [, rows = ''] = new RegExp(`^\\| ${firstHeading} +\\|.*\\n\\|[-| ]+\\n((?:\\|.*\\n)+)`, 'm').exec(page) ?? [];
  const cells = (row: string) => row.slice(2, -2).split(' | ');
  return rows
    .trimEnd()
    .split('\n')
    .map((row) => cells(row).map((cell) => cell.trim().replace(/^`(.*)`$/, '$1')));
}
