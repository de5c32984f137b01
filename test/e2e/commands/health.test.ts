import { PassThrough } from 'node:stream';
import { describe, expect } from 'vitest';
import { findingsTable } from '../../../cli/shared/health-run.ts';
import { checked } from '../../unit/client/broker-answers.ts';
import { answerWith } from '../../unit/client/loopback-server.ts';
import { answering, beginCommandLine, ended, openShell, runCommandLine } from './shared/command-line.ts';
import { it, SERVICES, WRONG } from './shared/operator-world.ts';

const [INSIGHTS, CLEANSING] = SERVICES;
/** The last line of stderr. A slow machine has lines about the progress before it. */
const summary = (text: string) => new RegExp(`^(?:.*: \\d+ of \\d+\n)*${text}\n$`);

describe('health', () => {
  it('shows a table of clients and services, and ends with 0 when all is well', async ({ world }) => {
    const table = `CLIENT  ${INSIGHTS}  ${CLEANSING}\nacme    accepted           accepted\n`;
    expect(await world.run('health')).toEqual(ended(0, table, summary('2 pairs: 2 accepted')));
  });

  /** @see Flexget/Flexget#1361 */
  it.each([
    [80, 13, /^acme +service-0 +accepted$/],
    [200, 2, /^acme(?: +accepted){12}$/],
  ])('fits twelve services into %i columns of a terminal, in %i lines', (columns, count, first) => {
    const service = (index: number) => ({ client: 'acme', service: `service-${index}`, finding: 'accepted' }) as const;
    const { shell } = openShell({ COLUMNS: `${columns}` });
    const lines = findingsTable(
      Array.from({ length: 12 }, (_, index) => service(index)),
      shell,
    )
      .trimEnd()
      .split('\n');
    expect([lines.length, lines[1]]).toEqual([count, expect.stringMatching(first)]);
    expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(columns);
  });

  it('names the clients whose credential is old, which alone is nothing wrong', async ({ world }) => {
    world.letTimePass(366 * 24 * 60 * 60_000);
    const advice = /\nacme: the credential is older than 365 days \(credentialMaxAgeDays\); client put rotates it\.\n$/;
    expect(await world.run('health')).toEqual(ended(0, /accepted/, advice));
  });

  it('ends with 1 when a credential does not work, and leaves out services that a client lacks', async ({ world }) => {
    await world.addClient('globex', INSIGHTS, WRONG);
    const last = summary('3 pairs: 2 accepted, 1 rejected');
    expect(await world.run('health')).toEqual(ended(1, /^globex +rejected +-$/m, last));
    const globex = { client: 'globex', service: INSIGHTS, finding: 'rejected' };
    const checks = [{ client: 'acme' }, { client: 'acme' }, globex];
    expect(await world.json('health')).toMatchObject({ environment: 'local', checks });
  });

  it('does not count a disabled client as a failure, but asks whether nothing to check is meant', async ({ world }) => {
    await world.run('client disable acme --yes');
    expect(await world.run('health')).toEqual(ended(0, /disabled/, summary('2 pairs: 2 disabled')));
    await world.run('client delete acme --yes');
    const question =
      /^0 pairs\nThere is nothing to check: is this the right environment, and does it have a client\?\n/;
    expect(await world.run('health')).toMatchObject({ exitCode: 1, stderr: expect.stringMatching(question) });
  });
});

const WATCH = ['health', '--watch', '1'];

it('health --watch goes on when a look in between fails, but ends with 1 when the first fails', async ({ world }) => {
  const seen = () => watching.output.screen;
  const { url } = await answering((response, request) => {
    const isDown = seen() !== '' && !seen().includes('error');
    const { client, service, stage } = JSON.parse(request.body);
    const answer = isDown ? answerWith(404, 'nothing here') : answerWith(200, checked({ client, service, stage }));
    answer(response, request);
  });
  const watching = beginCommandLine([...WATCH, '--url', url], world.shell);
  await expect.poll(seen, { timeout: 60_000 }).toMatch(/accepted.*error: unexpected-answer.*accepted/s);
  watching.interrupt();
  expect(await watching.finished).toMatchObject({ exitCode: 130 });
  const nothing = await answering(answerWith(404, ''));
  expect(await world.run(`${WATCH.join(' ')} --url ${nothing.url}`)).toMatchObject({ exitCode: 1, stdout: '' });
});

it('health repaints while it watches at a terminal', async ({ world: { shell } }) => {
  const terminal = Object.assign(new PassThrough(), { isTTY: true });
  const watching = beginCommandLine(WATCH, shell, terminal);
  await expect.poll(() => watching.output.stdout.split('\u001b[H\u001b[J').length, { timeout: 60_000 }).toBe(3);
  watching.interrupt();
  expect(await watching.finished).toMatchObject({ exitCode: 130 });
});

it('health --run reports that the local broker is elsewhere, does not answer, or fails', async () => {
  const order = (url: string) => runCommandLine(['health', '--run'], { TOKEN_BROKER_CONTROL_URL: url });
  expect(await order('http://broker.example.com')).toEqual(ended(1, '', /^error: control-unknown: /));
  const gone = /^error: control-unreachable: Nothing answers at http:\/\/127\.0\.0\.1:19999 /;
  expect(await order('http://127.0.0.1:19999')).toEqual(ended(1, '', gone));
  const { url } = await answering(answerWith(500, { message: 'marked' }));
  expect(await order(url)).toEqual(ended(1, '', /^error: control-failed: .* 500\n(?:(?!marked).)*\n$/));
});
