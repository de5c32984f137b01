import { describe, expect } from 'vitest';
import { answerWith } from '../../unit/client/loopback-server.ts';
import { answering, ended, runCommandLine } from './shared/command-line.ts';
import { it as inWorld, SERVICES } from './shared/operator-world.ts';

const [INSIGHTS, CLEANSING] = SERVICES;

/** A world in which `billing` got a token, the operator checked, and a stranger was refused. */
const it = inWorld.extend('asked', async ({ world }) => {
  await world.caller.token({ client: 'acme', service: INSIGHTS });
  await world.caller.token({ client: 'acme', service: INSIGHTS });
  await world.run(`client check acme --service ${CLEANSING}`);
  await world.run(`token acme ${INSIGHTS}`, { env: world.stranger });
  await world.run(`token acme-2 ${INSIGHTS}`, { env: world.stranger });
  return world;
});

describe('audit', () => {
  it('shows the requests for a client with their callers and outcomes, oldest first', async ({ asked }) => {
    const { exitCode, stdout } = await asked.run('audit acme');
    expect(exitCode).toBe(0);
    const issued = /^\S+Z +111111111111:billing\/\S+ +token +customer-insights +issued/.source;
    expect(stdout.split('\n')).toEqual([
      expect.stringMatching(/^TIME +CALLER +OPERATION +SERVICE +OUTCOME +CACHE +FINGERPRINT$/),
      expect.stringMatching(`${issued} +none +[0-9a-f]{16}$`),
      expect.stringMatching(`${issued} +memory +[0-9a-f]{16}$`),
      expect.stringMatching(/:operator\/\S+ +check +merchant-payment-cleansing +accepted/),
      expect.stringMatching(/:stranger\/\S+ +token +customer-insights +access-denied/),
      '',
    ]);
  });

  it('folds equal checks and leaves out the own account at a terminal', async ({ asked }) => {
    for (let checks = 0; checks < 2; checks += 1) await asked.run(`client check acme --service ${CLEANSING}`);
    const { stdout } = await asked.run('audit acme', { env: { COLUMNS: '200' } });
    expect(stdout.match(/ (check|token)[ (].*/g)).toHaveLength(4);
    expect(stdout).toMatch(/^\d\d:\d\dZ +operator\/\S+ +check \(3 times\) +merchant-payment-cleansing +accepted /m);
    expect((await asked.run('audit acme')).stdout.match(/ check /g)).toHaveLength(3);
    const narrow = await asked.run('audit acme', { env: { COLUMNS: '80' } });
    expect(narrow.stdout.match(/^.*$/gm)?.filter(({ length }) => length > 80)).toEqual([]);
  });

  it('says of the refusal that the probe of health asks for that it is meant', async ({ asked }) => {
    await asked.run('health --run');
    const refused = await asked.run('audit acme --outcome access-denied');
    expect(refused.stdout).toMatch(/:token-broker-probe-local\/\S+ +token +\S+ +access-denied \(probe\) +/);
    expect(refused.stdout).toMatch(/:stranger\/\S+ +token +customer-insights +access-denied +-/);
  });

  it('shows with --json only what is asked for', async ({ asked }) => {
    for (const [options, outcomes] of [
      ['--caller arn:aws:iam::111111111111:role/operator', ['accepted']],
      ['--caller arn:aws:iam::222222222222:role/operator', []],
      ['--caller billing --outcome issued', ['issued', 'issued']],
      ['--since 0s', []],
    ] as const) {
      const since = expect.stringMatching(/Z$/);
      const calls = outcomes.map((outcome) => expect.objectContaining({ outcome }));
      expect(await asked.json(`audit acme ${options}`)).toEqual({ environment: 'local', client: 'acme', since, calls });
    }
  });

  it('reads every page, and asks for no time before 1970', async () => {
    const page = (id: string) => ({ events: [{ timestamp: 1, message: `{"pair":"acme/x","requestId":"${id}"}` }] });
    const answers = [answerWith(200, { ...page('1'), nextToken: 'second page' }), answerWith(200, page('2'))];
    const { url, requests } = await answering((...call) => (answers.shift() ?? answerWith(200, {}))(...call));
    const env = { AWS_ENDPOINT_URL_CLOUDWATCH_LOGS: url };
    const { stdout } = await runCommandLine(['audit', 'acme', '--since', '99999d', '--json'], env);
    expect(stdout.match(/(?<="requestId": ")\d/g)).toEqual(['1', '2']);
    expect(JSON.parse(requests[1]?.body ?? '')).toMatchObject({ startTime: 0, nextToken: 'second page' });
  });

  it('finds the log of an environment in AWS by asking for its function', async ({ asked }) => {
    const { url, requests } = await answering(answerWith(200, { LoggingConfig: { LogGroup: 'token-broker-local' } }));
    const env = { AWS_ENDPOINT_URL_LAMBDA: url, AWS_REGION: 'us-east-1' };
    const { exitCode, stdout } = await asked.run('audit acme --environment dev', { env });
    expect(requests).toMatchObject([{ url: '/2015-03-31/functions/token-broker-dev/configuration' }]);
    expect({ exitCode, calls: stdout.trimEnd().split('\n').length - 1 }).toEqual({ exitCode: 0, calls: 4 });
  });

  it('does not take a typo for good news: no such client, no such caller', async ({ asked }) => {
    const typo = /^There is no client "acmee" in .*\. Did you mean acme\? Searching all the same\.\nNo call for acmee/;
    expect(await asked.run('audit acmee')).toEqual(ended(0, '', typo));
    const lambda = await answering(answerWith(200, { LoggingConfig: { LogGroup: 'token-broker-local' } }));
    const env = { AWS_ENDPOINT_URL_LAMBDA: lambda.url, AWS_REGION: 'us-east-1' };
    const unknown = /^No access rule of dev names the role nope\.$/m;
    expect(await asked.run('audit acme --caller nope --environment dev', { env })).toEqual(ended(0, '', unknown));
    const denied = await answering(answerWith(400, { __type: 'AccessDeniedException' }));
    const auditor = { AWS_ENDPOINT_URL_SECRETS_MANAGER: denied.url };
    expect(await asked.run('audit acmee', { env: auditor })).toEqual(ended(0, '', /^No call for acmee since \S+\n$/));
  });

  it('explains why AWS does not show the log, and says so when there was no such call', async ({ world }) => {
    expect((await world.run('audit acme --outcome issued')).stderr).toMatch(/^No such call for acme since /);
    const { url } = await answering(answerWith(400, { __type: 'AccessDeniedException' }));
    const result = await runCommandLine(['audit', 'acme'], { AWS_ENDPOINT_URL_CLOUDWATCH_LOGS: url });
    expect(result).toEqual(ended(1, '', /^error: aws-access-denied: .*logs:FilterLogEvents /));
  });
});
