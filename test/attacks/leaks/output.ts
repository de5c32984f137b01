import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { format, inspect } from 'node:util';
import { onTestFinished, vi } from 'vitest';

/** Records by place, until the test ends, the output of this process, unhandled rejections and Node's warnings. */
export function captureOutput(): Readonly<Record<'stdout' | 'stderr' | 'console' | 'unhandled' | 'warnings', string>> {
  const written = { stdout: '', stderr: '', console: '', unhandled: '', warnings: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    vi.spyOn(process[name], 'write').mockImplementation((chunk) => {
      written[name] += textOf(chunk);
      return true;
    });
  }
  // The functions write past the streams.
  const { writeSync } = fs;
  vi.spyOn(fs, 'writeSync').mockImplementation((fd: number, data: string | Uint8Array, ...rest: unknown[]) => {
    if (fd !== 1 && fd !== 2) return Reflect.apply(writeSync, fs, [fd, data, ...rest]);
    written[fd === 1 ? 'stdout' : 'stderr'] += textOf(data);
    return Buffer.byteLength(data);
  });
  syncBuiltinESMExports();
  for (const method of ['debug', 'dir', 'error', 'info', 'log', 'table', 'trace', 'warn'] as const) {
    vi.spyOn(console, method).mockImplementation((...values: unknown[]) => {
      written.console += `${format(...values)}\n${values.map(inspectAll).join('\n')}\n`;
    });
  }
  const onUnhandled = (reason: unknown) => {
    written.unhandled += `rejected: ${inspectAll(reason)}`;
  };
  const onWarning = (warning: Error) => {
    written.warnings += inspectAll(warning);
  };
  process.on('unhandledRejection', onUnhandled).on('warning', onWarning);
  onTestFinished(() => {
    process.off('unhandledRejection', onUnhandled).off('warning', onWarning);
    vi.restoreAllMocks();
    syncBuiltinESMExports();
  });
  return written;
}

/** Bytes that are no UTF-8 as Latin-1, too. */
function textOf(chunk: string | Uint8Array): string {
  const text = Buffer.from(chunk).toString();
  return text.includes('\ufffd') ? `${text}${Buffer.from(chunk).toString('latin1')}` : text;
}

/** All of a value that code could print, hidden members too. */
export function inspectAll(value: unknown): string {
  return inspect(value, { depth: null, showHidden: true, maxStringLength: null, maxArrayLength: null });
}
