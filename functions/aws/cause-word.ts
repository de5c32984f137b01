import { isPlainWord } from '../broker/redacted.ts';

/**
 * An error's code or name and nothing else: messages and hidden members of an SDK's errors quote the answer. Names come
 * from answers, too, so one that is no word is none.
 */
export function causeWord(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown';
  const word = 'code' in error && typeof error.code === 'string' ? error.code : error.name;
  return isPlainWord(word, 64) ? word : 'unknown';
}
