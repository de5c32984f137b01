import { writeSync } from 'node:fs';

/**
 * Writes a line, with its line end, to the standard output. A short one bypasses the stream, which would double the cost of
 * a memory hit. Never `console.log`: Lambda's JSON log format nests its output, and no metric appears.
 */
export function writeLine(line: string): void {
  const bytes = Buffer.from(line);
  // Past the stream, the line would land in the middle of one that it still buffers.
  const isStreamBusy = stream !== undefined && stream.writableLength > 0;
  const written = bytes.length <= PIPE_BUF && !isStreamBusy ? writeAtOnce(bytes) : 0;
  if (written === bytes.length) return;
  stream ??= process.stdout;
  stream.write(bytes.subarray(written));
}

/** Linux writes so many bytes to a pipe in one piece. */
const PIPE_BUF = 4_096;

/** Created on first use; most instances never need it. */
let stream: typeof process.stdout | undefined;

/** Gives the number of bytes written; 0 when the reader does not keep up, or is gone. */
function writeAtOnce(bytes: Uint8Array): number {
  try {
    return writeSync(1, bytes);
  } catch {
    return 0;
  }
}
