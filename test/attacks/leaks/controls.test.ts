import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { writeLine } from '../../../functions/aws/log/write-line.ts';
import { encodingsOf } from '../../support/encodings.ts';
import { findLeaks, marksOf, SPELLINGS } from './marks.ts';
import { captureOutput } from './output.ts';
import { dumpOf } from './world.ts';

/** Proves the search itself: it must find every mark that is really there. */
describe.each(SPELLINGS)('with %s marks', (spelling) => {
  const marks = marksOf(spelling);

  it.each(Object.entries(marks))('%s is found in every encoding, inside other text', (name, mark) => {
    for (const [encoding, text] of encodingsOf(mark)) {
      expect([name, encoding, findLeaks({ text: `a${text}z` }, spelling).length > 0]).toEqual([name, encoding, true]);
    }
    // The parser of JSON quotes a part of a text that it cannot read.
    expect(findLeaks({ text: mark.slice(0, 10) }, spelling)).not.toEqual([]);
  });

  it('is found on every stream, on the console, in warnings of Node, in hidden members and in causes', async () => {
    const written = captureOutput();
    process.stdout.write(marks.token);
    process.stderr.write(Buffer.from(marks.secret));
    writeLine(marks.clientId);
    const { console: said } = globalThis;
    said.error(Object.defineProperty(new Error('x'), '$response', { value: { body: marks.secret } }));
    said.log(new AggregateError([new Error('x', { cause: { deep: [marks.token] } })]));
    process.emitWarning(`x ${marks.token}`);
    await sleep(0);
    const leaks = findLeaks(written, spelling);
    for (const place of ['stdout: token', 'stdout: clientId', 'stderr: secret', 'console: secret', 'console: token'])
      expect(leaks).toContain(`${place}, plain`);
    expect(leaks).toContain('warnings: token, plain');
  });

  it.each(['utf8', 'base64', 'hex'] as const)('is found in the bytes of an item, as %s', (encoding) => {
    const B = Buffer.from(Buffer.from(`xx${marks.token}`).toString(encoding));
    expect(findLeaks({ item: dumpOf({ sealed: { B } }) }, spelling)).not.toEqual([]);
  });
});
