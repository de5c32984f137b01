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

/** An AWS service has answered no, and would give the same answer again; what is transient by its name or status is none. */
export function isDefinitive(error: unknown): boolean {
  const status = error instanceof Error ? statusOf(error) : 0;
  return status >= 400 && status < 500 && status !== 429 && !TRANSIENT.test(`${error}`);
}

/**
 * Where something unexpected was thrown, and nothing of what it says: messages quote what the code stumbled over. Never
 * throws, whatever it was.
 */
export function bugPlace(thrown: unknown): BugPlace {
  try {
    if (!(thrown instanceof Error)) return { name: typeof thrown, at: [] };
    return { name: causeWord(thrown), at: framesOf(thrown) };
  } catch {
    return { name: 'unknown', at: [] };
  }
}

interface BugPlace {
  /** An error's code or name, or the type of what is no error. */
  readonly name: string;
  readonly at: readonly string[];
}

/** Of an error that a service has sent; 0 for what the SDK made of an answer that it could not read. */
function statusOf(error: Error): number {
  if (!('$fault' in error && '$metadata' in error)) return 0;
  const { $metadata: metadata } = error;
  const isNumbered = typeof metadata === 'object' && metadata !== null && 'httpStatusCode' in metadata;
  return isNumbered ? Number(metadata.httpStatusCode) : 0;
}

/** After the errors of the last line the SDK has set its clock by the answer: the next call is signed with the right time. */
const TRANSIENT = new RegExp(
  '^[^:]*(Throttl|LimitExceeded|TooManyRequests|Timeout|ThroughputExceeded|' +
    'TimeTooSkewed|RequestExpired|RequestInTheFuture|InvalidSignature|SignatureDoesNotMatch)',
);

/** The lines at the end that are nothing but places: a line of the message can look like one. */
function framesOf({ stack = '', message }: Error): readonly string[] {
  const at = stack.indexOf(message);
  const lines = (at === -1 ? stack : stack.slice(at + message.length)).split('\n');
  const frames = lines.slice(lines.findLastIndex((line) => !FRAME.test(line)) + 1);
  return frames.slice(0, MAX_FRAMES).map((frame) => frame.trim());
}

const FRAME =
  /^ {4}at (?:async )?(?:[\w.<>[\] ]+ \()?(?:<anonymous>|index \d+|(?:file:\/\/|node:|\/)[\w./@:+-]+:\d+:\d+)\)?$/;
const MAX_FRAMES = 8;
