import { findMark } from '../../support/encodings.ts';

/** Values that must never be shown, made so that a test recognises them in any place. */
export type Marks = Readonly<Record<'clientId' | 'secret' | 'token' | 'sessionToken' | 'sealingKey', string>>;

/** With the characters that encodings treat in their own ways, and as words, which pass where only words may. */
export const SPELLINGS = ['odd', 'plain'] as const;

export type Spelling = (typeof SPELLINGS)[number];

/** Marks of a machine are one short text several times over: messages quote only a part of a text that they cannot read. */
export function marksOf(spelling: Spelling): Marks {
  const core = CORES[spelling];
  const isPlain = spelling === 'plain';
  return {
    clientId: isPlain ? core.clientId : core.clientId.repeat(4),
    secret: isPlain ? `${core.secret}-orchard-lantern` : core.secret.repeat(4),
    token: core.token.repeat(4),
    sessionToken: core.sessionToken.repeat(4),
    // A shorter text is not a sealing key.
    sealingKey: core.sealingKey.repeat(8),
  };
}

/** The value that a credential has in the header of a token request, by the encoding of Basic. */
export function basicOf({ clientId, secret }: Marks, encoding: 'raw' | 'form' = 'raw'): string {
  const encode = (text: string) => (encoding === 'form' ? `${new URLSearchParams({ '': text })}`.slice(1) : text);
  return Buffer.from(`${encode(clientId)}:${encode(secret)}`).toString('base64');
}

/** All marks of a credential and a token in one line: the answer of a server that repeats its request and its data. */
export function echoOf(marks: Marks): string {
  return `${marks.secret} ${marks.token} ${marks.clientId} Basic ${basicOf(marks)}`;
}

/** Every mark that stands in a text, with the text's name and the encoding; the shortest part of it is enough. */
export function findLeaks(texts: Readonly<Record<string, string>>, spelling: Spelling): readonly string[] {
  const marks = marksOf(spelling);
  const searched = [
    ...Object.entries(CORES[spelling]),
    ['Basic value', basicOf(marks)] as const,
    ['Basic value in form encoding', basicOf(marks, 'form')] as const,
  ];
  return Object.entries(texts).flatMap(([place, text]) =>
    searched.flatMap(([name, mark]) => findMark(text, mark).map((encoding) => `${place}: ${name}, ${encoding}`)),
  );
}

/** No quotes and no backslashes, which would look different each time that JSON is put into JSON. */
const CORES: Readonly<Record<Spelling, Marks>> = {
  odd: { clientId: 'i~$+/6Y', secret: 's$+/=9Z', token: 't.~-$7K', sessionToken: 'n+/=8Wq', sealingKey: 'k+/=5Xv' },
  plain: { clientId: 'acme-uk', secret: 'kestrel', token: 'Tk7KxJ5', sessionToken: 'Sn8WqM2', sealingKey: 'Sk5XvB8' },
};
