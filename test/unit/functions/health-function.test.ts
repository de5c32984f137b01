import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { pairKey } from '../../../functions/broker/pair.ts';
import { CREDENTIALS, PROBE_RULE, startHealthFunctionWorld, VARIABLES } from './health-function-world.ts';

const SERVICE = 'customer-insights';

describe('a health run', () => {
  it('proves every pair through the Function URL, once an hour, and says nothing when all is well', async () => {
    const { run, store, tokenService, sts, items } = await startHealthFunctionWorld({ services: [SERVICE, 'other'] });
    store('acme', CREDENTIALS.acme);
    store('globex', CREDENTIALS.renewed, SERVICE);
    for (const provenBy of ['request', 'traffic']) {
      const { checked, missed, probe, subjects } = await run();
      expect({ missed, subjects, probe: probe.said }).toEqual({ missed: [], subjects: [], probe: 'access-denied' });
      const told = checked.map(({ pair, finding, ...how }) => `${pairKey(pair)} ${finding} ${how.provenBy}`);
      expect(told.toSorted()).toEqual([
        `acme/customer-insights accepted ${provenBy}`,
        `acme/other accepted ${provenBy}`,
        `globex/customer-insights accepted ${provenBy}`,
      ]);
    }
    expect(tokenService.requests).toHaveLength(3);
    expect(sts.operations).toEqual(['AssumeRole', 'AssumeRole']);
    expect(JSON.stringify(await items())).not.toContain('notify');
  });

  it('reports a rejected credential once, sends it once, and reports when it is accepted again', async () => {
    const { run, store, replace, tokenService, messages, items } = await startHealthFunctionWorld();
    store('acme', CREDENTIALS.wrong);
    const rejected = await run();
    expect(rejected.subjects).toEqual(['[token-broker test] rejected: acme on customer-insights']);
    expect(messages[0]?.text).toContain(`secret version: ${rejected.checked[0]?.version}\n`);
    expect((await run()).subjects).toEqual([]);
    expect(tokenService.requests).toHaveLength(1);
    const keys = (await items()).map(({ pair }) => pair?.S ?? '').toSorted();
    expect(keys).toEqual(['acme/customer-insights', 'notify:customer-insights']);
    replace('acme', CREDENTIALS.acme);
    expect((await run()).subjects).toEqual(['[token-broker test] accepted: acme on customer-insights']);
    expect(tokenService.requests).toHaveLength(2);
  });

  it('reports that the probe got a token, which is never shown', async () => {
    const world = await startHealthFunctionWorld({ accessRules: [PROBE_RULE] });
    const { run, store, tokenService, healthLines, messages } = world;
    expect((await run()).line).toMatchObject({ ProbeNotDenied: 1, probe: 'credential-missing' });
    store('acme', CREDENTIALS.acme);
    expect((await run()).line).toMatchObject({ ProbeNotDenied: 1, probe: 'a-token' });
    const subject = '[token-broker test] SECURITY: a role without an access rule was not refused';
    expect(messages).toMatchObject([{ subject }]);
    const written = [...healthLines, ...messages.map(({ text }) => text)].join('\n');
    for (const word of written.split(/[^\w-]+/)) expect(tokenService.issued(word)).toBe(false);
  });

  it('sees that no message would reach an operator, also when SNS does not say, and has none without clients', async () => {
    const { run, healthLines, secretsManager, sns } = await startHealthFunctionWorld();
    sns.failWith('access-denied');
    expect((await run()).line).toMatchObject({ OperatorsUnreachable: 1 });
    sns.failWith(undefined);
    expect((await run()).line).toMatchObject({ OperatorsUnreachable: 0, ProbeNotDenied: 0, probe: 'access-denied' });
    const lines = healthLines.length;
    secretsManager.failWith('access-denied');
    await expect(run()).rejects.toThrow('The clients cannot be listed: AccessDeniedException');
    expect(healthLines).toHaveLength(lines);
  });
});

describe('an event of Secrets Manager', () => {
  it('has a good version proven once on every service before a caller needs it, with one line for each', async () => {
    const services = [SERVICE, 'other'];
    const world = await startHealthFunctionWorld({ services });
    const { caller, deliver, store, replace, tokenService, messages, healthLines } = world;
    const tokens = () => Promise.all(services.map((service) => caller.token({ client: 'acme', service })));
    store('acme', CREDENTIALS.acme);
    await tokens();
    const event = replace('acme', CREDENTIALS.renewed);
    await deliver(event);
    const requests = tokenService.requests.slice(2).map(({ service, ok }) => `${service} ${ok}`);
    expect(requests.toSorted()).toEqual(services.map((service) => `${service} true`));
    await tokens();
    expect([tokenService.requests.length, messages]).toEqual([4, []]);
    const proven = { environment: 'test', outcome: 'accepted', operation: 'health', Findings: 1, provenBy: 'request' };
    const promoted = Object(event).detail.versionId;
    expect(healthLines.toSorted().map((line) => JSON.parse(line))).toMatchObject(
      services.map((service) => ({ ...proven, service, pair: `acme/${service}`, promoted })),
    );
  });

  it('about something else leads to no check, and one line says so', async () => {
    const { deliver, store, lines, healthLines } = await startHealthFunctionWorld();
    const event = store('acme', CREDENTIALS.acme);
    await deliver({ ...event, detail: { ...event.detail, labelUpdated: 'AWSPENDING' } });
    await deliver({ ...event, detail: null });
    expect(lines).toEqual([]);
    expect(healthLines.map((line) => JSON.parse(line).outcome)).toEqual(['foreign', 'malformed']);
  });
});

it.each([
  [{}, undefined],
  [{ TOKEN_BROKER_PROBE_ROLE: '' }, 'The environment variables TOKEN_BROKER_PROBE_ROLE must be set.'],
  [{ TOKEN_BROKER_HEALTH_INTERVAL_SECONDS: 'hourly' }, 'the interval of health must be a number of seconds'],
  [{ TOKEN_BROKER_URL: 'auth.example.com' }, 'the URL of the broker must start with https://'],
])('the entry point begins with its variables, and ends at once with %j', async (wrong, message) => {
  for (const [name, value] of Object.entries({ ...VARIABLES, ...wrong })) vi.stubEnv(name, value);
  onTestFinished(() => void vi.unstubAllEnvs());
  vi.resetModules();
  const loading = import('../../../functions/health.ts');
  if (message === undefined) expect((await loading).handler).toBeInstanceOf(Function);
  else await expect(loading).rejects.toThrow(message);
});
