/**
 * Whether a value of an answer, or any name or value within it, shows a secret text. A short text is shown only by what is
 * nothing else: other words may well contain it.
 */
export function shows(value: unknown, secret: string): boolean {
  if (typeof value === 'string') return value === secret || (secret.length >= MIN_CONTAINED && value.includes(secret));
  if (typeof value === 'number') return `${value}` === secret;
  if (typeof value !== 'object' || value === null) return false;
  return Object.entries(value).some(([name, one]) => shows(name, secret) || shows(one, secret));
}

const MIN_CONTAINED = 8;
