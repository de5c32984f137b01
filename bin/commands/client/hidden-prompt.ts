import type { ReadStream, WriteStream } from 'node:tty';
import { aborted } from '../shared/failure.ts';

/** Where a person is asked. */
export interface Terminal {
  readonly input: Pick<ReadStream, 'setRawMode' | 'setEncoding' | 'resume' | 'pause' | 'on' | 'off'>;
  readonly output: Pick<WriteStream, 'write'>;
}

/**
 * Asks one question after the other, a line each, and shows nothing of the answers; Ctrl-C, and the end of the input,
 * reject as `aborted`.
 */
export async function askHidden(questions: readonly string[], { input, output }: Terminal): Promise<readonly string[]> {
  const { promise, resolve, reject } = Promise.withResolvers<readonly string[]>();
  const answers: string[] = [];
  let line = '';
  const ask = () => output.write(`${questions[answers.length]}: `);

  const onKey = (key: string) => {
    if (answers.length === questions.length) return;
    if (key === CTRL_C || (key === CTRL_D && line === '')) return reject(aborted());
    if (key !== '\r' && key !== '\n') {
      line = edited(line, key);
      return;
    }
    answers.push(line);
    line = '';
    output.write('\n');
    if (answers.length === questions.length) resolve(answers);
    else ask();
  };
  const onData = (chunk: Buffer | string) => {
    for (const key of `${chunk}`.replaceAll(ESCAPE_SEQUENCES, '').replaceAll('\r\n', '\r')) onKey(key);
  };
  const onEnd = () => reject(aborted());

  // Before anything is asked, and until the last answer: what is typed or pasted in between would be shown.
  input.setRawMode(true);
  try {
    input.setEncoding('utf8');
    input.on('data', onData);
    input.on('end', onEnd);
    ask();
    input.resume();
    return await promise;
  } finally {
    input.off('data', onData);
    input.off('end', onEnd);
    input.pause();
    input.setRawMode(false);
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
