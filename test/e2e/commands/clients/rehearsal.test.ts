import { execFile, spawnSync } from 'node:child_process';
import { rmSync, statSync, writeFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { shellFile } from '../../../../local/shell.ts';
import { startOwnBroker, useLocalBroker } from '../../../support/processes/local-broker.ts';
import { ended, ROOT, runCommandLine } from '../shared/command-line.ts';

const broker = useLocalBroker();
/** The variables of the operator's terminal. */
const operator = ({ shell } = broker()) => ({ ...shell('operator'), AWS_SESSION_TOKEN: '' });

/** Runs the command line in the operator's terminal. */
const run = (command: string, input?: object, own = broker()) =>
  runCommandLine(command.split(' '), operator(own), JSON.stringify(input));

describe('env', () => {
  const port = () => new URL(broker().url).port;

  it('names the operator and the callers of the broker that listens on PORT', async () => {
    const { stdout } = await runCommandLine(['env'], { PORT: port() });
    expect(stdout.split('\n')).toEqual(['operator', 'billing', 'reporting', 'stranger', '']);
    // No other user of the machine may read the keys.
    expect(statSync(shellFile(port())).mode & 0o777).toBe(0o600);
  });

  it('sets the variables of the start in a shell, and removes them again', async () => {
    const commands = [
      'eval "$(node cli/token-broker.ts env reporting)"',
      'printenv AWS_ACCESS_KEY_ID TOKEN_BROKER_SERVICES AWS_ENDPOINT_URL',
      'eval "$(node cli/token-broker.ts env --unset)"',
      'printenv | grep -E "^(AWS|TOKEN_BROKER)_"',
    ].join('\n');
    const env = { PATH: process.env.PATH, PORT: port(), AWS_PROFILE: 'other', AWS_SESSION_TOKEN: 'other' };
    const shell = promisify(execFile)('sh', ['-c', `${commands} || true`], { cwd: ROOT, env });

    const { AWS_ENDPOINT_URL } = broker().shell();
    const services = 'customer-insights merchant-payment-cleansing';
    expect((await shell).stdout).toBe(`AKIDLOCALREPORTING\n${services}\n${AWS_ENDPOINT_URL}\n`);
  });

  /** @see docker/docs#6428 */
  it('sets the variables in PowerShell with --powershell, and removes them again', async () => {
    const { stdout } = await runCommandLine(['env', 'reporting', '--powershell'], { PORT: port() });
    expect(stdout).toContain("$env:AWS_ACCESS_KEY_ID = 'AKIDLOCALREPORTING'\n$env:AWS_SECRET_ACCESS_KEY = '");
    const removed = await runCommandLine(['env', '--unset', '--powershell']);
    // The terminal may have another sign-in by then.
    expect(removed).toEqual(
      ended(
        0,
        /^(?!.*AWS_PROFILE)\$env:AWS_ENDPOINT_URL = \$null\n(?:\$env:\w+ = \$null\n)+$/s,
        /AWS_PROFILE and AWS_REGION, are not restored/,
      ),
    );
  });

  it.each([
    ['no broker listens there', ['operator'], '19999', 1, /^error: broker-not-running: .* 19999\nStart it with npm/],
    ['there is no such caller', ['x'], undefined, 2, /^error: the local broker has no such caller: it has operator/],
    ['PORT is no port', [], 'abc', 2, /^error: PORT is not the port of a local broker/],
  ])('prints nothing to evaluate when %s', async (_, args, wrong, exitCode, stderr) => {
    const result = await runCommandLine(['env', ...args], { PORT: wrong ?? port() });
    expect(result).toEqual(ended(exitCode, '', stderr));
  });

  it('ignores the remains of a broker that was killed', async () => {
    const left = { pid: spawnSync('true').pid, callers: { operator: operator() } };
    writeFileSync(shellFile(19_998), JSON.stringify(left));
    onTestFinished(() => rmSync(shellFile(19_998)));
    const result = await runCommandLine(['env'], { PORT: '19998' });
    expect(result).toEqual(ended(1, '', /^error: broker-not-running: /));
  });
});

describe('service', () => {
  it.each([
    ['throttle', 'throttled'],
    ['down', 'unreachable'],
    ['reject', 'rejected'],
  ])('plays an incident with --%s, until --recover', async (mode, finding) => {
    await run(`service customer-insights --${mode}`);
    expect((await run('client check globex')).stdout).toMatch(new RegExp(`^customer-insights +${finding} `, 'm'));

    await run('service customer-insights --recover');
    await run('client retry --service customer-insights --yes');
    expect((await run('client check acme')).stdout).toMatch(/^customer-insights +accepted /m);
  });

  it('turns living tokens away with --revoke, and issues new ones', async () => {
    const api = `${broker().tokenServiceUrl}/customer-insights/v1/whoami`;
    const statusFor = async (token: string) =>
      (await fetch(api, { headers: { authorization: `Bearer ${token}` } })).status;
    const tokenOf = async (more = '') => {
      return JSON.parse((await run(`token acme customer-insights --json --reveal${more}`)).stdout);
    };
    const { access_token: first, fingerprint } = await tokenOf();
    expect(await statusFor(first)).toBe(200);
    // A token is not refused right after it was issued.
    broker().passMinute();
    expect(await run('service customer-insights --revoke')).toEqual(ended(0, '', /refuses every token/));
    expect(await statusFor(first)).toBe(401);
    expect(await statusFor((await tokenOf(` --refused ${fingerprint}`)).access_token)).toBe(200);
  });

  it.each([
    [' customer-insights', /choose one of --reject, --slow, --down/],
    [' customer-insights --down --slow', /choose one of/],
    [' customer-insights --table-down', /choose one of --reject, .* for customer-insights/],
    [' customer-insightsx --down', /has no service "customer-insightsx"/],
    [' customer-insights --down --environment dev', /only a service of npm start can be made to fail/],
    [' --table-down --environment dev', /only a service of npm start can be made to fail/],
    ['', /choose one of --table-down, .* for the table, or name a service/],
    [' --down', /choose one of --table-down, /],
    [' --table-down --recover', /choose one of --table-down, /],
  ])('is refused: service%s', async (rest, stderr) => {
    expect(await run(`service${rest}`)).toEqual(ended(2, '', stderr));
  });
});

describe('an outage of the table', () => {
  const pairs = ['acme customer-insights', 'acme merchant-payment-cleansing'];

  // docs/ten-minutes.md, whose commands a test runs, has --table-down.
  it('--table-denied leaves the token that was remembered, names the rest, and ends', async () => {
    const detail = String.raw`DynamoDB refuses dynamodb:GetItem \(AccessDeniedException\)`;
    const own = await startOwnBroker();
    const command = (text: string, input?: object) => run(text, input, own);
    const ask = (pair = '') => command(`token ${pair}`);
    const [warm, cold] = pairs;
    const before = await ask(warm);
    expect(before).toMatchObject({ exitCode: 0 });

    expect(await command('service --table-denied')).toMatchObject({ exitCode: 0 });
    const away = ended(1, '', new RegExp(`^error: table-unavailable: The broker cannot reach its table: ${detail}`));
    expect(await ask(cold)).toEqual(away);
    expect((await ask(warm)).stdout).toContain(/^fingerprint .*/m.exec(before.stdout)?.[0]);
    expect((await command('client check acme')).stdout).toMatch(/^merchant-payment-cleansing +table-unavailable /m);
    const put = await command('client put acme --yes', { client_id: 'acme-id', secret: 'good-1' });
    expect(put).toEqual(ended(1, /table-unavailable +untried/, /The broker cannot reach its table/));
    await command('health --run');
    expect(own.output.stdout).toContain('incident: the broker checks no credential');
    expect(own.output.stdout).not.toMatch(/\[token-broker local\] .* on /);

    await command('service --recover');
    // The circuit of the instance is open for ten seconds.
    own.passMinute();
    await expect.poll(() => ask(cold), { timeout: 20_000 }).toMatchObject({ exitCode: 0 });
  });

  it('--table-busy leaves the token that was remembered, is named in the log, and has a call wait for its end', async () => {
    const own = await startOwnBroker();
    const command = (text: string) => run(text, undefined, own);
    const [warm, cold] = pairs.map((pair) => `token ${pair}`) as [string, string];
    const fingerprint = /^fingerprint .*/m;
    const before = fingerprint.exec((await command(warm)).stdout)?.[0];

    expect(await command('service --table-busy')).toMatchObject({ exitCode: 0 });
    own.passMinute();
    const busy = async () => {
      expect(fingerprint.exec((await command(warm)).stdout)?.[0]).toBe(before);
      return own.output.stdout;
    };
    await expect.poll(busy, { timeout: 20_000 }).toContain('table-busy');
    const waiting = command(cold);
    await command('service --recover');
    expect(await waiting).toMatchObject({ exitCode: 0 });
  });
});

it('says that nothing answers there, to a terminal that still has the variables of a broker that has ended', async () => {
  const gone = Object.fromEntries(Object.keys(operator()).flatMap((name) => (/URL/.test(name) ? [[name, GONE]] : [])));
  const commands = ['token acme customer-insights', 'client list', 'audit acme', 'client disable acme --yes'];
  const results = await Promise.all(commands.map((one) => runCommandLine(one.split(' '), { ...operator(), ...gone })));

  for (const result of results) {
    const words = /(?:^|\n)error: [\w-]+: Nothing answers at http:\/\/127\.0\.0\.1:19999\nCorrect the port, start/;
    expect(result).toEqual(ended(1, '', words));
    // Once.
    expect(result.stderr).not.toContain('ECONNREFUSED');
  }
  // A call of another broker does not fail for that.
  const other = ['whoami', '--url', GONE.replace('http', 'https')];
  expect((await runCommandLine(other, { ...operator(), ...gone })).stderr).toMatch(/no answer: ECONNREFUSED\n/);
});

/** Nothing listens there. */
const GONE = 'http://127.0.0.1:19999';

it('the example plays an incident of each service, although two of its pairs are latched', async () => {
  const own = await startOwnBroker();
  const command = (text: string) => run(text, undefined, own);
  await command('health --run');
  for (const service of ['customer-insights', 'merchant-payment-cleansing']) {
    await command(`service ${service} --down`);
    const messages = async () => {
      // Two of them at once may be one.
      own.passMinute();
      await command('health --run');
      return own.output.stdout;
    };
    await expect.poll(messages, { timeout: 60_000 }).toContain(`incident: ${service} does not answer`);
  }
});
