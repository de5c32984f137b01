/** One word for a POSIX shell; what needs no quotes gets none. */
export function quote(text: string): string {
  return /^[\w.:/-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
