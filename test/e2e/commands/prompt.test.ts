import { describe, expect, it } from 'vitest';
import { NEW, startOperatorWorld } from './operator-world.ts';
import { hasTerminal, runAtTerminal } from './terminal.ts';

const note = hasTerminal ? '' : ' (skipped: python3 is not installed)';
const PUT = ['client', 'put', 'acme'];

describe.skipIf(!hasTerminal)(`client put at a terminal${note}`, () => {
  it.each([
    ['typed', `${NEW.client_id}\r`, `${NEW.secret}\r`],
    ['corrected on the way', `typo\u0015${NEW.client_id}é\u007f\r`, `\u001b[A${NEW.secret}x\u007f\r`],
    ['pasted at once', `${NEW.client_id}\r\n${NEW.secret}\n`, ''],
  ])('asks for the credential and shows nothing of the secret when it is %s', async (_, id, secret) => {
    const world = await startOperatorWorld();
    const { exitCode, screen } = await runAtTerminal(PUT, world.shell, [
      ['client_id: ', id],
      ['secret: ', secret],
    ]);
    expect(screen).not.toContain(NEW.secret);
    expect(screen).toMatch(
      /The secret is not shown while you type it\..*client_id: .*acme-id-2.*secret: \r\n.*is AWSCURRENT/s,
    );
    expect(exitCode).toBe(0);
  });

  it.each([
    ['Ctrl-C', '\u0003'],
    ['Ctrl-D', '\u0004'],
  ])('ends with 130 on %s, and has stored nothing', async (_, key) => {
    const world = await startOperatorWorld();
    const { exitCode, screen } = await runAtTerminal(PUT, world.shell, [
      ['client_id: ', 'half an i'],
      ['', key === '\u0004' ? `\r${key}` : key],
    ]);
    expect(exitCode).toBe(130);
    expect(screen).not.toContain('Storing');
    expect((await world.run(['client', 'list'])).stdout).toMatch(/^acme +customer-insights .* [0-9a-f]{8} +- +\d+ s$/m);
  });

  it('says what is wrong with an empty answer', async () => {
    const world = await startOperatorWorld();
    const { exitCode, screen } = await runAtTerminal(PUT, world.shell, [
      ['client_id: ', '\r'],
      ['secret: ', '\r'],
    ]);
    expect(exitCode).toBe(1);
    expect(screen).toContain('credential-malformed: The credential cannot be used: client_id is empty');
  });
});
