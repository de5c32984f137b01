/** How many columns a line of a recorded template may have. */
const COLUMNS = 120;

const REFERENCE = /^\{ "(Ref|Fn::GetAtt|Name)": .{1,100} \}$/;

/** A template as it is recorded: with a value that fits on a line, and with each statement of a policy on a line. */
export function recordedTemplate(template: unknown): string {
  return `${linesOf(template, '', 0)}\n`;
}

/** @param taken the columns before and after the value, without the indentation */
function linesOf(value: unknown, indent: string, taken: number): string {
  const line = lineOf(value);
  const fits = indent.length + taken + line.length <= COLUMNS;
  if (fits || typeof value !== 'object' || value === null || 'Effect' in value) return line;
  const inner = `${indent}  `;
  if (Array.isArray(value)) {
    const items = value.every((one) => typeof one === 'string' || REFERENCE.test(lineOf(one)))
      ? filled(value.map(lineOf), inner)
      : value.map((one) => linesOf(one, inner, 1)).join(`,\n${inner}`);
    return `[\n${inner}${items}\n${indent}]`;
  }
  const members = Object.entries(value).map(([key, one]) => {
    const name = `${JSON.stringify(key)}: `;
    return `${inner}${name}${linesOf(one, inner, name.length + 1)}`;
  });
  return `{\n${members.join(',\n')}\n${indent}}`;
}

function lineOf(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(lineOf).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).map(([name, one]) => `${JSON.stringify(name)}: ${lineOf(one)}`);
  return members.length === 0 ? '{}' : `{ ${members.join(', ')} }`;
}

/** Texts, references and names next to each other, as many as fit on a line. */
function filled(names: readonly string[], indent: string): string {
  let column = indent.length;
  return names
    .map((name, index) => {
      const isFirst = index === 0 || column + name.length + 2 > COLUMNS;
      column = isFirst ? indent.length + name.length + 1 : column + name.length + 2;
      return index === 0 ? name : `,${isFirst ? `\n${indent}` : ' '}${name}`;
    })
    .join('');
}
