import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { AccessRule } from '../../../functions/broker/authorize.ts';
import { createReleaseCheckFunction } from '../../../functions/release-check-function.ts';
import { rulesDigest } from '../../../functions/variables.ts';
import { PROBLEMS, type ProblemType } from '../../../functions/vocabulary.ts';
import { startFunctionUrl } from '../../../local/function-url/server.ts';
import { startCodeDeploy } from '../../support/aws/codedeploy.ts';
import { exampleRule } from '../../support/example.ts';
import { EXAMPLE_KEY } from '../../support/processes/stand-ins.ts';
import { startLoopbackServer } from '../client/loopback-server.ts';
import { CREDENTIALS, HEALTH, startHealthFunctionWorld } from './health-function-world.ts';

const SERVICES = ['customer-insights', 'other'];
/** Time for the report at the end. */
const REPORT_MS = 15_000;
const CHECK = 'the check of acme/customer-insights';
const TOKEN = 'a token of acme/customer-insights';
const CRASHED = { '/check': undefined, '/token': undefined };
const UNKNOWN_RULES = expect.stringMatching(/^the access rules in force are unknown, and \w+ were synthesised$/);
const EVENT = { DeploymentId: 'd-EXAMPLE', LifecycleEventHookExecutionId: 'execution-1' };

/** The default access rules of the world, and rules that allow another role something. */
const SYNTHESISED = [exampleRule({ services: 'all' })];
const FOREIGN_RULE = exampleRule({ role: 'arn:aws:iam::999999999999:role/foreign', clients: 'all', services: 'all' });
const [OWN, FOREIGN] = [SYNTHESISED, [...SYNTHESISED, FOREIGN_RULE]].map((accessRules) => rulesDigest({ accessRules }));
const FOREIGN_RULES = `the access rules in force are ${FOREIGN}, and ${OWN} were synthesised`;

describe('a new version of the token function', () => {
  it('may have callers when a pair of each service, or a made-up pair, was asked and its token refused', async () => {
    const { store, tokenService, lines, release } = await startWorld();
    expect(await release()).toEqual({ status: 'Succeeded', faults: [] });
    expect(askedOf(lines.splice(0))).toEqual(['token no-such-client/customer-insights access-denied']);
    store('acme', CREDENTIALS.acme, 'customer-insights');
    // The version is not at fault for a bad credential.
    store('globex', CREDENTIALS.wrong);
    expect(await release()).toEqual({ status: 'Succeeded', faults: [] });
    expect(tokenService.requests).toHaveLength(2);
    expect(askedOf(lines)).toEqual([
      'check acme/customer-insights accepted',
      'check globex/other rejected',
      'token acme/customer-insights access-denied',
      'token globex/other access-denied',
    ]);
  });

  it('is asked again when it crashes at first, as long as there is time to report', async () => {
    const { store, release, clock } = await startWorld();
    store('acme', CREDENTIALS.acme);
    expect(await release(await startVersion({}, 6))).toEqual({ status: 'Succeeded', faults: [] });
    const startedMs = clock.aheadMs;
    const faults = expect.arrayContaining([expect.any(String)]);
    expect(await release(await startVersion({}, Infinity))).toMatchObject({ status: 'Failed', faults });
    expect(clock.aheadMs - startedMs).toBeLessThanOrEqual(120_000 - REPORT_MS);
  });

  it('gets no caller when it issues a token to a role that may only check, and that token is not shown', async () => {
    const rule = exampleRule({ role: HEALTH.role, services: 'all' });
    const { store, release, written, tokenService } = await startWorld([rule]);
    store('acme', CREDENTIALS.acme, 'customer-insights');
    const others = expect.stringMatching('^the access rules in force are');
    expect(await release()).toEqual({ status: 'Failed', faults: [others, `${TOKEN} was not refused: a-token`] });
    expect(written.join('')).not.toMatch(/marked/);
    for (const word of written.join('').split(/[^\w-]+/)) expect(tokenService.issued(word)).toBe(false);
  });

  it.each(['list of clients', 'version'])(
    'is reported before its time is over when the %s never answers',
    async (silent) => {
      const { release, broker, store } = await startWorld();
      store('acme', CREDENTIALS.acme);
      const { url, close } = await startLoopbackServer(() => undefined);
      onTestFinished(close);
      if (silent === 'list of clients') vi.stubEnv('AWS_ENDPOINT_URL_SECRETS_MANAGER', url);
      const startedAt = performance.now();
      const asked = silent === 'version' ? url : broker.url;
      expect(await release(asked, REPORT_MS + 300)).toMatchObject({ status: 'Failed' });
      expect(performance.now() - startedAt).toBeLessThan(REPORT_MS / 2);
    },
  );

  it('gets no caller when its role lost the right on the table, or the clients cannot be listed', async () => {
    const { store, release, dynamodb, secretsManager } = await startWorld();
    store('acme', CREDENTIALS.acme, 'customer-insights');
    dynamodb.play('table-denied');
    const fault = `${CHECK} ended with table-unavailable: dynamodb:GetItem`;
    expect(await release()).toEqual({ status: 'Failed', faults: [fault] });
    secretsManager.failWith('access-denied');
    expect(await release()).toEqual({ status: 'Failed', faults: ['the clients could not be listed'] });
  });

  it.each<[what: string, answer: Record<string, Answer | undefined>, faults: readonly string[]]>([
    ['rules of a foreign role, too,', { '/whoami': answerOf({ rules_digest: FOREIGN }) }, [FOREIGN_RULES]],
    ['a caller without its rules', { '/whoami': answerOf({ rules_digest: undefined }) }, [UNKNOWN_RULES]],
    ['secrets-unavailable', { '/check': problem('secrets-unavailable') }, []],
    ['access-denied', { '/check': problem('access-denied') }, [`${CHECK} ended with access-denied`]],
    ['a 424, for a token', { '/token': problem('client-disabled') }, [`${TOKEN} was not refused: client-disabled`]],
    ['nothing, because it crashes,', CRASHED, [CHECK, TOKEN].map((start) => expect.stringContaining(start))],
  ])('that answers %s is judged by that', async (_what, answers, faults) => {
    const { store, release } = await startWorld();
    store('acme', CREDENTIALS.acme, 'customer-insights');
    const url = await startVersion(answers);
    expect(await release(url)).toEqual({ status: faults.length === 0 ? 'Succeeded' : 'Failed', faults });
  });
});

/** Starts a version that crashes at first, and then gives the usual answers, or these. */
async function startVersion(answers: Record<string, Answer | undefined>, crashes = 0) {
  let left = crashes;
  const usual = { '/check': problem('secrets-unavailable'), '/token': problem('access-denied') };
  const told: Record<string, Answer | undefined> = { '/whoami': answerOf(), ...usual, ...answers };
  const version = await startFunctionUrl({
    handler: async ({ rawPath }) => {
      const answer = left-- > 0 ? undefined : told[rawPath];
      if (answer === undefined) throw new Error('crashed');
      return { ...answer, headers: { 'content-type': 'application/problem+json' } };
    },
    callers: [HEALTH],
    port: 0,
  });
  onTestFinished(version.close);
  return version.url;
}

it('the report follows an event of CodeDeploy, is repeated, and finally fails with only the status', async () => {
  const { release, invoke, codedeploy } = await startWorld();
  await expect(invoke({ DeploymentId: 'd-EXAMPLE' })).rejects.toThrow();
  expect(codedeploy.reports).toEqual([]);
  codedeploy.fail(1);
  expect(await release()).toMatchObject({ status: 'Succeeded' });
  codedeploy.fail(2);
  await expect(release()).rejects.toThrow('AWS answered with the status 500');
});

async function startWorld(accessRules: readonly AccessRule[] = []) {
  const codedeploy = await startCodeDeploy({ keys: [EXAMPLE_KEY] });
  onTestFinished(codedeploy.close);
  const world = await startHealthFunctionWorld({ services: SERVICES, accessRules });
  vi.stubEnv('AWS_ENDPOINT_URL_CODEDEPLOY', codedeploy.url);
  const written: string[] = [];
  const clock = { aheadMs: 0 };
  const options = {
    credentials: HEALTH,
    write: (line: string) => written.push(line),
    now: () => Date.now() + clock.aheadMs,
    sleep: async (ms: number) => {
      clock.aheadMs += ms;
    },
  };
  const names = {
    TOKEN_BROKER_ENVIRONMENT: 'test',
    TOKEN_BROKER_RULES_DIGEST: rulesDigest({ accessRules: SYNTHESISED }),
    TOKEN_BROKER_SERVICES: SERVICES.join(' '),
  };
  const invoke = (event: unknown, url = world.broker.url, remainingMs = 120_000) =>
    createReleaseCheckFunction({ ...names, TOKEN_BROKER_URL: url }, options)(event, {
      getRemainingTimeInMillis: () => remainingMs,
    });
  /** Returns the report to CodeDeploy, and its reasons. */
  const release = async (url?: string, remainingMs?: number) => {
    await invoke(EVENT, url, remainingMs);
    const { faults, outcome } = JSON.parse(written.at(-1) ?? '{}');
    const { DeploymentId: deploymentId, LifecycleEventHookExecutionId: lifecycleEventHookExecutionId } = EVENT;
    expect(codedeploy.reports.at(-1)).toEqual({ deploymentId, lifecycleEventHookExecutionId, status: outcome });
    return { status: outcome, faults };
  };
  return { ...world, codedeploy, written, clock, invoke, release };
}

/** The answer of a version that has the access rules as they were synthesised. */
function answerOf(changes: object = {}): Answer {
  const rules = { rules: [], rules_digest: OWN };
  const caller = { role: HEALTH.role, account: '111111111111', ...rules, ...changes };
  return { statusCode: 200, body: JSON.stringify(caller) };
}

interface Answer {
  readonly statusCode: number;
  readonly body: string;
}

function problem(type: ProblemType): Answer {
  const { status, retryable, title } = PROBLEMS[type];
  return { statusCode: status, body: JSON.stringify({ type, title, detail: 'What happened.', status, retryable }) };
}

/** The requests to the broker with their outcomes, from its audit lines. */
function askedOf(lines: readonly string[]): readonly string[] {
  const read = lines.map((line) => JSON.parse(line)).filter(({ operation }) => /^(check|token)$/.test(operation));
  return read.map(({ operation, pair, outcome }) => `${operation} ${pair} ${outcome}`).toSorted();
}
