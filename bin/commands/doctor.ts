import { type Command, InvalidArgumentError } from 'commander';
import { createTokenBroker, type TokenBroker, TokenBrokerError } from '../../client/index.ts';
import type { Caller } from '../../functions/broker/authorize.ts';
import type { Pair } from '../../functions/broker/pair/pair.ts';
import { authUrlFault } from '../../lib/settings/auth-url.ts';
import { isJsonObject } from '../json.ts';
import { examinePermissions, findCredentials, identify } from './doctor/identity.ts';
import { examineConnection, isMissing, readAddress, tryTokenPaths } from './doctor/reach.ts';
import { examineSecret, examineTags } from './doctor/secret.ts';
import { failed, ok, type Step, unknown } from './doctor/step.ts';
import { rulesOf, rulesText } from './policy.ts';
import { isLocal, settingsOf } from './shared/environment.ts';
import { adviceFor, explainFailure } from './shared/failure.ts';
import { addConnectionOptions, type ClientOptions, type ConnectionOptions, parseName } from './shared/options.ts';
import { printJson, printLine, talk } from './shared/output.ts';
import { openSecrets, type Secrets } from './shared/secrets.ts';

/** `doctor`: why does my call fail? */
export function addDoctorCommand(program: Command, signal: AbortSignal): void {
  addConnectionOptions(program.command('doctor'))
    .description('Find out why a call to the broker fails, as your AWS identity.')
    .option('--client <name>', 'the client of the call', parseName)
    .option('--service <name>', 'the service of the call', parseName)
    .option(
      '--auth-url <url>',
      "the service's authUrl, to try both documented token paths there, without a credential",
      parseAuthUrl,
    )
    .option('--operator', 'look also at what an operator keeps in order, when the call succeeds')
    .option('--json', 'answer in JSON')
    .addHelpText('after', HELP)
    .action(async (_: unknown, command: Command) => {
      const options = command.optsWithGlobals<DoctorOptions>();
      const { environment, client, service, operator, json } = options;
      if ((client === undefined) !== (service === undefined)) {
        command.error('error: a call has a client and a service: give both, or neither');
      }
      const pair = client !== undefined && service !== undefined ? { client, service } : undefined;
      const areSecretsInReach = !isLocal(environment) || process.env.AWS_ENDPOINT_URL_SECRETS_MANAGER;
      await explainFailure(options, async () => {
        const secrets = areSecretsInReach ? openSecrets(options, signal) : undefined;
        const steps: Step[] = [];
        const tell = (step: Step) => {
          steps.push(step);
          if (!json) printLine(`${WORDS[step.outcome]}  ${step.step.padEnd(15)}  ${step.detail}`);
        };
        for await (const step of examine({ ...options, pair, secrets }, signal)) tell(step);
        // Else this would take the place of what makes the call fail.
        if (operator && secrets !== undefined && causeIn(steps) === undefined) tell(await examineTags(secrets));
        conclude(steps, options);
      });
    });
}

interface DoctorOptions extends ClientOptions, ConnectionOptions {
  readonly region?: string;
  readonly client?: string;
  readonly service?: string;
  readonly authUrl?: string;
  readonly operator?: boolean;
}

interface Complaint extends DoctorOptions {
  readonly pair: Pair | undefined;
  /** `undefined` when it is unknown where the secrets are. */
  readonly secrets: Secrets | undefined;
}

/**
 * Follows a call from this machine to the token endpoint, and stops where it fails. The cause is that of the last step
 * which has one: what is found out afterwards only makes it more exact.
 */
async function* examine(complaint: Complaint, signal: AbortSignal): AsyncGenerator<Step> {
  const { environment, pair, secrets, authUrl } = complaint;
  const { step: address, endpoint } = readAddress(complaint.url ?? '', complaint.region);
  yield address;
  if (endpoint === undefined) return;

  const { step: found, credentials } = await findCredentials();
  yield found;
  if (credentials === undefined) return;

  for (const step of await examineConnection(endpoint, signal)) {
    yield step;
    if (step.outcome === 'failed') return;
  }
  const { step: identity, caller } = await identify(credentials, endpoint, signal);
  yield identity;
  if (identity.outcome === 'failed') return;

  const { url, region } = endpoint;
  const broker = createTokenBroker({ url: url.href, region, credentials, cache: false, maxAttempts: 1 });
  const step = await call(broker, complaint, signal);
  yield step;
  if (authUrl !== undefined) yield await tryTokenPaths(authUrl, signal);
  switch (step.cause) {
    case 'aws-forbidden':
      yield await examinePermissions({ environment, region, credentials, caller }, signal);
      return;
    case 'access-denied':
      if (caller !== undefined && pair !== undefined) yield lookIntoRules(environment, caller);
      return;
    case 'credential-missing':
      if (pair !== undefined) yield await examineSecret(environment, pair, secrets);
      return;
  }
}

/** Makes the call itself; without a pair one that only shows whether the broker can be called. */
async function call(broker: TokenBroker, { environment, pair }: Complaint, signal: AbortSignal): Promise<Step> {
  const step = 'call';
  try {
    const token = await broker.token({ client: '', service: '', ...pair, signal });
    return ok(
      step,
      `A token was issued, ${token.fingerprint}, until ${token.expiresAtBroker ?? new Date(token.expiresAt).toISOString()}`,
    );
  } catch (failure) {
    if (!(failure instanceof TokenBrokerError) || failure.type === 'aborted') throw failure;
    const { type, message, problem, retryAfterSeconds } = failure;
    if (pair === undefined && type === 'invalid-request') {
      return ok(step, 'The broker takes your signature and answers; --client and --service would ask for a token');
    }
    // A broker that may not read the secret does not ask its caller to come back later.
    if (type === 'secrets-unavailable' && retryAfterSeconds === undefined)
      return failed(step, 'secret-denied', message);
    const shape = problem?.response_shape;
    const status = isJsonObject(shape) ? shape.status : undefined;
    if (type === 'token-endpoint-error' && isMissing(status)) {
      return { ...failed(step, 'token-path-wrong', message), shape };
    }
    const advice = adviceFor(failure, { environment, client: pair?.client });
    return { step, outcome: 'failed', detail: message, cause: type, advice, ...(shape !== undefined && { shape }) };
  }
}

/** The settings at hand may differ from those that are deployed, so this only hints. */
function lookIntoRules(environment: string, { partition, account, role }: Caller): Step {
  const settings = settingsOf(environment);
  if (settings === undefined) return unknown('access-rule', `lib/environments.ts does not name "${environment}"`);
  const rules = rulesOf(`arn:${partition}:iam::${account}:role/${role}`, settings);
  if (rules.length === 0) return unknown('access-rule', `lib/environments.ts has no rule for the role ${role}`);
  return unknown('access-rule', `lib/environments.ts lets the role ${role}: ${rulesText(rules)}`);
}

const WORDS = { ok: 'ok    ', failed: 'FAILED', unknown: '?     ' } as const;

function conclude(steps: readonly Step[], { environment, json }: DoctorOptions): void {
  const { cause, advice } = causeIn(steps) ?? {};
  if (json) printJson({ environment, ok: cause === undefined, cause, advice, steps });
  talk(cause === undefined ? 'Nothing is wrong.' : `${cause}: ${advice}`);
  if (cause !== undefined) process.exitCode = 1;
}

function causeIn(steps: readonly Step[]): Step | undefined {
  return steps.findLast(({ cause }) => cause !== undefined);
}

function parseAuthUrl(text: string): string {
  const fault = authUrlFault(text, { allowLoopback: true });
  if (fault !== undefined) throw new InvalidArgumentError(`It ${fault}.`);
  return text;
}

const HELP = `
Examples:
  $ npm run token-broker -- doctor --client acme --service customer-insights
  $ npm run token-broker -- doctor --client acme --service customer-insights --auth-url https://auth.example.com

Exit code: 0 nothing is wrong, 1 the cause is named, 2 wrong usage.`;
