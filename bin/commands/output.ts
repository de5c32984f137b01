/** Writes data for a program: one JSON document on stdout. */
export function printJson(data: Readonly<Record<string, unknown>>): void {
  process.stdout.write(`${JSON.stringify(data, undefined, 2)}\n`);
}

/** Writes data for a person: one line per member on stdout, members that are `undefined` left out. */
export function printMembers(data: Readonly<Record<string, unknown>>): void {
  const members = Object.entries(data).filter(([, value]) => value !== undefined);
  const width = Math.max(...members.map(([name]) => name.length));
  for (const [name, value] of members) {
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    process.stdout.write(`${plain(name).padEnd(width)}  ${plain(text)}\n`);
  }
}

/** Writes one line for a person on stderr, where it never mixes with data. */
export function talk(line: string): void {
  process.stderr.write(`${plain(line)}\n`);
}

/** A service's scope or a foreign server's text must not steer the terminal. */
function plain(text: string): string {
  return text.replaceAll(/\p{Cc}|\p{Cf}/gu, '�');
}
