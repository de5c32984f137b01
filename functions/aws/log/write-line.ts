import { writeSync } from 'node:fs';

/**
 * Writes a line, including its line end, to the standard output. A short line bypasses the stream, which would double
 * the cost of a memory hit. Never `console.log`: Lambda's JSON log format nests its output, and no metric appears.
 */
export function writeLine(line: string): void {
  const bytes = Buffer.from(line);
  // A line that bypasses a busy stream would land in the middle of a buffered line.
  const isStreamBusy = stream !== undefined && stream.writableLength > 0;
  const written = bytes.length <= PIPE_BUF && !isStreamBusy ? writeAtOnce(bytes) : 0;
  if (written === bytes.length) return;
  stream ??= process.stdout;
  stream.write(bytes.subarray(written));
}

/** Linux writes at most this many bytes to a pipe atomically. */
const PIPE_BUF = 4_096;

/** Created on first use. Most instances never need it. */
let stream: typeof process.stdout | undefined;

/** Returns the number of bytes written, or 0 if the reader is too slow or gone. */
function writeAtOnce(bytes: Uint8Array): number {
  try {
    return writeSync(1, bytes);
  } catch {
    return 0;
  }
}
