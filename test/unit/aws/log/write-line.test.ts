import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';

/** Around the largest atomic write of a pipe, and beyond its buffer; together some megabytes. */
const LENGTHS = [1, 300, 4_094, 4_095, 4_096, 70_000];
const linesOf = (lengths: readonly number[]) =>
  Array.from({ length: 300 }, (_, n) => `${n}:`.padEnd(lengths[n % lengths.length] ?? 0, 'é'));

it.each([
  ['a socket', []],
  ['a pipe', ['sh', '-c', '"$0" "$@" | cat']],
])('lines of every length arrive whole and in order over %s whose reader does not keep up', async (_, through) => {
  const { stdout, said } = start(
    `for (const line of (${linesOf})(${JSON.stringify(LENGTHS)})) writeLine(line + '\\n');
     console.error('all are written');`,
    through,
  );
  await said.begins;
  expect((await text(stdout)).split('\n')).toEqual([...linesOf(LENGTHS), '']);
  expect(await said.all).toBe('all are written\n');
});

it('a short line is written without a stream', async () => {
  const { stdout, said } = start(
    `Object.defineProperty(process, 'stdout', { get: () => console.error('a stream is made') });
     for (const line of ['one', 'two']) writeLine(line + '\\n');`,
  );
  expect(await text(stdout)).toBe('one\ntwo\n');
  expect(await said.all).toBe('');
});

/** Runs code in a process of its own; `said` is its standard error. */
function start(code: string, through: readonly string[] = []) {
  const file = new URL('../../../../functions/aws/log/write-line.ts', import.meta.url);
  const program = `import { writeLine } from '${file}';\n${code}`;
  const [command = '', ...rest] = [...through, process.execPath, '--input-type=module', '-e', program];
  const { stdout, stderr } = spawn(command, rest, { stdio: ['ignore', 'pipe', 'pipe'] });
  return { stdout, said: { begins: once(stderr, 'data'), all: text(stderr) } };
}
