import { type Command, InvalidArgumentError } from 'commander';
import { NAME_PATTERN } from '../../../functions/contract.ts';

/** The name of a client, a service or an environment. */
export function parseName(text: string): string {
  if (!NAME_PATTERN.test(text)) {
    throw new InvalidArgumentError(
      'A name has letters, digits, ".", "_" and "-", at most 63, the first a letter or digit.',
    );
  }
  return text;
}

/** The services of a client: names with commas between, or `all`. */
export function parseServices(text: string): readonly string[] | 'all' {
  return text === 'all' ? text : [...new Set(text.split(',').map(parseName))];
}

/** An AWS region. */
export function parseRegion(text: string): string {
  if (!/^[a-z0-9]+(-[a-z0-9]+)+$/.test(text)) throw new InvalidArgumentError('A region looks like eu-west-1.');
  return text;
}

/** How long a token should still live. */
export function parseMinTtl(text: string): number {
  const seconds = Number(text);
  if (!/^\d{1,5}$/.test(text) || seconds > 86_400) {
    throw new InvalidArgumentError('Give whole seconds, 0 to 86400.');
  }
  return seconds;
}

/** How long to wait: a second to an hour. */
export function parseSeconds(text: string): number {
  const seconds = Number(text);
  if (!/^\d{1,4}$/.test(text) || seconds < 1 || seconds > 3_600) {
    throw new InvalidArgumentError('Give whole seconds, 1 to 3600.');
  }
  return seconds;
}

/** Checks a fingerprint; a token given by mistake must not be repeated in the error, as `commander` itself would do. */
export function checkFingerprint(text: string | undefined, command: Command): void {
  if (text !== undefined && !/^[0-9a-f]{16}$/.test(text)) {
    command.error('error: --refused takes the fingerprint of the token (16 hex digits), not the token');
  }
}
