import type { Command } from 'commander';
import { membersOf } from '../../functions/broker/json.ts';
import { createTokenBroker, type TokenBroker, TokenBrokerError } from '../index.ts';
import { findCredentials, identify } from './doctor/identity.ts';
import { examineConnection, isMissing, readAddress } from './doctor/reach.ts';
import { type Cause, type DoctorStep, failed, ok, stepText, unknown } from './doctor/step.ts';
import { adviceFor, explainFailure, shapeText } from './failure.ts';
import { addConnectionOptions, addPair, type CallerOptions, readPair } from './options.ts';
import { note, printJson, printLine } from './output.ts';
import type { Shell } from './shell.ts';

/** Adds steps after the steps of the call. Only operators have such steps. */
export type LookFurther = (
  shell: Shell,
  options: DoctorOptions,
  steps: readonly DoctorStep[],
) => AsyncIterable<DoctorStep>;

export interface DoctorOptions extends CallerOptions {
  readonly client?: string;
  readonly service?: string;
}

/** Adds `doctor`, which finds out why a call fails. Returns the command, so that operators can add options. */
export function addDoctorCommand(program: Command, shell: Shell, lookFurther?: LookFurther): Command {
  return addConnectionOptions(addPair(program.command('doctor')))
    .description('Find out why a call to the broker fails, as your AWS identity.')
    .action(async (_client: unknown, _service: unknown, _: unknown, command: Command) => {
      const options = { ...command.optsWithGlobals<DoctorOptions>(), ...readPair(command) };
      const { client, service, json } = options;
      if ((client === undefined) !== (service === undefined)) {
        command.error('error: a call needs a client and a service: give both, or neither');
      }
      await explainFailure(shell, options, async () => {
        const steps: DoctorStep[] = [];
        const print = (step: DoctorStep) => {
          steps.push(step);
          if (json) return;
          shell.stdout.write(stepText(step, shell.stdout.columns));
          if (step.shape !== undefined) printLine(shell, shapeText(step.shape));
        };
        for await (const step of examine(shell, options)) print(step);
        for await (const step of lookFurther?.(shell, options, [...steps]) ?? []) print(step);
        // A later step only makes the cause more exact.
        const { cause, advice } = steps.findLast((step) => step.cause !== undefined) ?? {};
        if (json) printJson(shell, { environment: options.environment, ok: cause === undefined, cause, advice, steps });
        const verdict = steps.some(({ isUnproven }) => isUnproven) ? UNPROVEN : 'Nothing is wrong.';
        note(shell, cause === undefined ? verdict : `${cause}: ${advice}`);
        if (cause !== undefined) shell.exitCode = 1;
      });
    });
}

/** Follows a call from this machine to the token endpoint, and stops where it fails. */
async function* examine(shell: Shell, options: DoctorOptions): AsyncGenerator<DoctorStep> {
  const { step: address, endpoint } = readAddress(options.url ?? '', options.region);
  yield address;
  if (endpoint === undefined) return;

  const { step: found, credentials } = await findCredentials(shell);
  yield found;
  if (credentials === undefined) return;

  for (const step of await examineConnection(endpoint, shell.signal)) {
    yield step;
    if (step.outcome === 'failed') return;
  }
  const identity = await identify(shell, credentials, endpoint);
  yield identity;
  if (identity.outcome === 'failed') return;

  const { url, region } = endpoint;
  const broker = createTokenBroker({ url: url.href, region, credentials, cache: false, maxAttempts: 1 });
  yield await call(shell, broker, options);
}

/** Makes the call. Without a pair, calls `whoami`, which shows whether the broker can be called. */
async function call(shell: Shell, broker: TokenBroker, options: DoctorOptions): Promise<DoctorStep> {
  const step = 'call';
  const { environment, client, service } = options;
  try {
    if (client === undefined || service === undefined) {
      const { role, rules } = await broker.whoami({ signal: shell.signal });
      const words = `The broker accepts your signature: you are ${role}`;
      return rules.length > 0 ? ok(step, words) : unknown(step, `${words}, which no access rule names`);
    }
    const { fingerprint, expiresAtBroker, isCached } = await broker.token({ client, service, signal: shell.signal });
    const words = `A token was issued, ${fingerprint}, until ${expiresAtBroker}`;
    return isCached ? { ...ok(step, `${words}; the broker had cached it`), isUnproven: true } : ok(step, words);
  } catch (failure) {
    if (!(failure instanceof TokenBrokerError) || failure.type === 'aborted') throw failure;
    const { type, message, problem } = failure;
    const shape = problem?.response_shape !== undefined && { shape: problem.response_shape };
    const cause = causeOf(failure);
    if (cause !== undefined) return { ...failed(step, cause, message), ...shape };
    const advice = adviceFor(failure, { environment, client });
    return { step, outcome: 'failed', detail: message, cause: type, advice, ...shape };
  }
}

/** Returns a cause that is more exact than the problem of a call, if the problem shows it. */
function causeOf({ type, detail, problem, retryAfterSeconds }: TokenBrokerError): Cause | undefined {
  switch (type) {
    case 'secrets-unavailable':
      // A broker that may not read the secret sends no `Retry-After`.
      return retryAfterSeconds === undefined ? 'secret-denied' : undefined;
    case 'table-unavailable':
      if (detail.includes('sealing key')) return 'sealing-key-missing';
      return detail.includes('dynamodb:') ? 'table-denied' : undefined;
    case 'token-endpoint-error':
      return isMissing(membersOf(problem?.response_shape).status) ? 'token-path-wrong' : undefined;
    default:
      return undefined;
  }
}

const UNPROVEN =
  'The call works. This does not prove the service, because the broker had cached the token: an operator proves it with client check.';
