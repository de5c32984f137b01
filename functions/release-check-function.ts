import { setTimeout } from 'node:timers/promises';
import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import * as z from 'zod/mini';
import { createTokenBroker, type TokenBrokerOptions } from '../client/token-broker.ts';
import { createClientList } from './aws/client-secrets.ts';
import { createHookReporter } from './aws/codedeploy.ts';
import type { InvocationContext } from './aws/function-url.ts';
import { writeLine } from './aws/log/write-line.ts';
import { CHECK_TIMEOUT_MS, type PairAnswer } from './broker/health/check-pairs.ts';
import { pairsOf } from './broker/health/run.ts';
import { type Pair, pairKey, type ServiceName } from './broker/pair/pair.ts';
import { createPairChecker, createProbe } from './health-function.ts';

interface Options {
  /** Whose clients: `token-broker/<environment>/<client>`. */
  readonly environment: string;
  /** The Function URL of the version that no caller reaches yet. */
  readonly url: string;
  /** The configured ones. */
  readonly services: readonly ServiceName[];
  /** What the requests are signed with; the function's own when left out. */
  readonly credentials?: TokenBrokerOptions['credentials'];
  readonly write?: (line: string) => void;
  /** Epoch milliseconds. */
  readonly now?: () => number;
  readonly sleep?: (ms: number) => Promise<unknown>;
}

/**
 * Asks a new version of the token function before a caller does, and tells CodeDeploy whether it may have callers: the
 * version must come to a finding, good or bad, about one pair of each service, and must refuse a token of the same pair to
 * this function, whose role may only check.
 */
export function createReleaseCheckFunction(options: Options) {
  const { environment, url, services, credentials, write = writeLine, now = Date.now, sleep = setTimeout } = options;
  const broker = createTokenBroker({ url, credentials, cache: false, maxAttempts: 1 });
  const checkPair = createPairChecker(broker);
  const askForToken = createProbe(broker);
  const listClients = createClientList({ environment, secretsManager: new SecretsManagerClient(), timeoutMs: 30_000 });
  const report = createHookReporter();

  return async (event: unknown, context: InvocationContext): Promise<void> => {
    const hook = hookSchema.parse(event);
    const faults = await findFaults(now() + context.getRemainingTimeInMillis() - REPORTING_MS);
    const status = faults.length === 0 ? 'Succeeded' : 'Failed';
    const { DeploymentId: deploymentId, LifecycleEventHookExecutionId: lifecycleEventHookExecutionId } = hook;
    write(`${JSON.stringify({ environment, operation: 'release-check', outcome: status, deploymentId, faults })}\n`);
    await report({ deploymentId, lifecycleEventHookExecutionId, status });
  };

  /** What speaks against the version. */
  async function findFaults(endsAt: number): Promise<readonly string[]> {
    const listed = await askUntil(endsAt, () => listClients().catch(() => undefined), isDefined);
    if (listed === undefined) return ['the clients could not be listed'];
    const { pairs: all } = pairsOf(listed.clients, services);
    const pairs = services.flatMap((service) => all.find((pair) => pair.service === service) ?? []);
    const faults = await Promise.all([
      ...pairs.map((pair) => faultOfCheck(pair, endsAt)),
      ...(pairs.length > 0 ? pairs : [madeUpPair()]).map((pair) => faultOfProbe(pair, endsAt)),
    ]);
    return faults.filter(isDefined);
  }

  async function faultOfCheck(pair: Pair, endsAt: number): Promise<string | undefined> {
    const ask = async (timeoutMs: number) => failureOf(await checkPair(pair, timeoutMs));
    const failure = await askUntil(endsAt, ask, (one) => one === undefined);
    return failure && `the check of ${pairKey(pair)} ended with ${failure}`;
  }

  async function faultOfProbe(pair: Pair, endsAt: number): Promise<string | undefined> {
    const ask = (timeoutMs: number) => askForToken(pair, timeoutMs);
    const { condition, said } = await askUntil(endsAt, ask, (one) => one.condition !== 'unproven');
    return condition === 'denied' ? undefined : `a token of ${pairKey(pair)} was not refused: ${said}`;
  }

  /** Asks again until an answer is final: a role and a URL that are new are not known to all of AWS at once. */
  async function askUntil<Answer>(
    endsAt: number,
    ask: (timeoutMs: number) => Promise<Answer>,
    isFinal: (answer: Answer) => boolean,
  ): Promise<Answer> {
    for (;;) {
      const answer = await ask(Math.min(CHECK_TIMEOUT_MS, endsAt - now()));
      if (isFinal(answer) || now() + PAUSE_MS >= endsAt) return answer;
      await sleep(PAUSE_MS);
    }
  }

  /** Where no client is stored yet. */
  function madeUpPair(): Pair {
    return { client: 'no-such-client', service: services[0] ?? 'none' };
  }
}

/** What an attempt and the report take after the last pause, at their worst. */
const REPORTING_MS = CHECK_TIMEOUT_MS + 15_000;
const PAUSE_MS = 5_000;

/** @see https://docs.aws.amazon.com/codedeploy/latest/userguide/reference-appspec-file-structure-hooks.html */
const hookSchema = z.object({ DeploymentId: z.string(), LifecycleEventHookExecutionId: z.string() });

/** A credential that does not work is not the fault of a version, nor that Secrets Manager cannot be read. */
function failureOf(answer: PairAnswer): string | undefined {
  return answer.kind === 'failed' && answer.failure !== 'secrets-unavailable' ? answer.failure : undefined;
}

function isDefined<Value>(value: Value | undefined): value is Value {
  return value !== undefined;
}
