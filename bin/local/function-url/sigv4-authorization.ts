import { createHash } from 'node:crypto';
import { incomplete } from './sigv4-refusal.ts';

/** What the `authorization` header says. */
export interface Authorization {
  readonly accessKeyId: string;
  readonly date: string;
  readonly region: string;
  readonly service: string;
  readonly terminator: string;
  readonly signedHeaders: readonly string[];
  readonly signature: string;
}

export const ALGORITHM = 'AWS4-HMAC-SHA256';

/** Reads the header; throws a `SigV4Refusal` when a part is missing. */
export function parseAuthorization(text: string): Authorization {
  const list = text.startsWith(`${ALGORITHM} `) ? text.slice(ALGORITHM.length) : '';
  const parameters = new Map(list.split(',').map((parameter) => splitOnce(parameter.trim(), '=')));
  const required = (name: string) => parameters.get(name) ?? '';
  const missing = ['Credential', 'Signature', 'SignedHeaders'].filter((name) => required(name) === '');
  if (missing.length > 0) {
    const sentences = missing.map((name) => `Authorization header requires '${name}' parameter.`).join(' ');
    const hash = createHash('sha256').update(text).digest('base64');
    throw incomplete(`${sentences} (Hashed with SHA-256 and encoded with Base64) Authorization=${hash}`);
  }
  const [accessKeyId, date, region, service, terminator, ...others] = required('Credential').split('/');
  if (!accessKeyId || !date || !region || !service || !terminator || others.length > 0) {
    throw incomplete('Credential must have exactly 5 slash-delimited elements, e.g. keyid/date/region/service/term.');
  }
  const signedHeaders = required('SignedHeaders').split(';');
  return { accessKeyId, date, region, service, terminator, signedHeaders, signature: required('Signature') };
}

function splitOnce(text: string, separator: string): readonly [string, string] {
  const at = text.indexOf(separator);
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + separator.length)];
}

/** `x-amz-date` is in the basic format of ISO 8601; a `date` header may also be an HTTP date. */
export function parseDate(text: string | undefined): Date {
  if (text === undefined) {
    throw incomplete("Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header.");
  }
  const date = new Date(text.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'));
  if (
    Number.isNaN(date.getTime()) ||
    ![basicFormat(date), date.toUTCString()].includes(text.replace(/ [+-]0000$/, ' GMT'))
  ) {
    throw incomplete(
      `Date must be in ISO-8601 'basic format'. Got '${text}'. See http://en.wikipedia.org/wiki/ISO_8601`,
    );
  }
  return date;
}

/** `20261121T061600Z` */
export function basicFormat(date: Date): string {
  return `${date.toISOString().slice(0, 19).replaceAll(/[-:]/g, '')}Z`;
}
