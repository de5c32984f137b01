import type { ReadStream, WriteStream } from 'node:tty';
import { aborted } from './failure.ts';

/** Where a person is asked. */
export interface Terminal {
  readonly input: Pick<ReadStream, 'setRawMode' | 'setEncoding' | 'resume' | 'pause' | 'on' | 'off' | 'unshift'>;
  readonly output: Pick<WriteStream, 'write'>;
}

/** Asks for one line and shows nothing of it; Ctrl-C, and the end of the input, reject as `aborted`. */
export async function askHidden(question: string, { input, output }: Terminal): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let line = '';
  let rest = '';
  const onData = (chunk: Buffer | string) => {
    const keys = [...`${chunk}`.replaceAll(ESCAPE_SEQUENCES, '')];
    for (const [index, key] of keys.entries()) {
      if (key === CTRL_C || (key === CTRL_D && line === '')) return reject(aborted());
      if (key === '\r' || key === '\n') {
        rest = keys.slice(index + 1).join('');
        return resolve();
      }
      line = edited(line, key);
    }
  };
  const onEnd = () => reject(aborted());

  output.write(`${question}: `);
  input.setRawMode(true);
  input.setEncoding('utf8');
  input.on('data', onData);
  input.on('end', onEnd);
  input.resume();
  try {
    await promise;
    return line;
  } finally {
    input.off('data', onData);
    input.off('end', onEnd);
    input.pause();
    input.setRawMode(false);
    // Both answers may be pasted at once: what is left is for the next question.
    if (rest !== '') input.unshift(rest);
    output.write('\n');
  }
}

function edited(line: string, key: string): string {
  if (key === BACKSPACE || key === DELETE) return [...line].slice(0, -1).join('');
  if (key === CTRL_U) return '';
  return key < ' ' ? line : line + key;
}

const CTRL_C = '\u0003';
const CTRL_D = '\u0004';
const BACKSPACE = '\u0008';
const CTRL_U = '\u0015';
const DELETE = '\u007f';
const ESCAPE = '\u001b';
/** Arrow keys and the marks around pasted text. */
const ESCAPE_SEQUENCES = new RegExp(`${ESCAPE}\\[[0-9;]*[A-Za-z~]`, 'g');
