/** Every text in which a reader would recognise the mark, inside any other text. */
export function encodingsOf(mark: string): readonly (readonly [name: string, text: string])[] {
  const bytes = Buffer.from(mark);
  return [
    ['plain', mark],
    ['JSON', JSON.stringify(mark).slice(1, -1)],
    ['URL', encodeURIComponent(mark)],
    ['form', `${new URLSearchParams({ mark })}`.slice('mark='.length)],
    ['hex', bytes.toString('hex')],
    ['upper-case hex', bytes.toString('hex').toUpperCase()],
    ['inspected bytes', [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join(' ')],
    ['bytes in JSON', bytes.toJSON().data.join(',')],
    ...[0, 1, 2].map((offset) => [`base64 at ${offset}`, base64At(bytes, offset, 'base64')] as const),
    ...[0, 1, 2].map((offset) => [`base64url at ${offset}`, base64At(bytes, offset, 'base64url')] as const),
  ];
}

/** The names of the encodings in which the text holds the mark. */
export function findMark(text: string, mark: string): readonly string[] {
  return encodingsOf(mark).flatMap(([name, encoded]) => (text.includes(encoded) ? [name] : []));
}

/** The part of the base64 text that depends on these bytes alone, when `offset` bytes stand before them. */
function base64At(bytes: Buffer, offset: number, encoding: 'base64' | 'base64url'): string {
  const first = Math.ceil((offset * 8) / 6);
  const end = Math.floor(((offset + bytes.length) * 8) / 6);
  return Buffer.concat([Buffer.alloc(offset), bytes])
    .toString(encoding)
    .slice(first, end);
}
