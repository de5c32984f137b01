import { causeWord } from './cause-word.ts';

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
