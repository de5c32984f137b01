import { setTimeout } from 'node:timers/promises';
import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import * as z from 'zod/mini';
import { createTokenBroker } from '../client/token-broker.ts';
import { withRetry, withTimeLimit } from './aws/calls.ts';
import type { InvocationContext } from './aws/function-url.ts';
import { createHttpsSender } from './aws/https/sender.ts';
import { CODEDEPLOY, createJsonApi } from './aws/json-api.ts';
import { writeLine } from './aws/log/write-line.ts';
import { type Pair, pairKey } from './broker/pair.ts';
import { createPairChecker, createProbe, type FunctionOptions, signalAfter } from './health/ask-broker.ts';
import { createClientList } from './health/client-secrets.ts';
import { askUntil, failureText, type PairAnswer } from './health/rules/check-pairs.ts';
import type { ProbeAnswer } from './health/rules/evaluate.ts';
import { pairsOf } from './health/rules/run.ts';
import type { ReleaseCheckVariables } from './variables.ts';

/**
 * Tests a new version of the token function before callers use it, and reports the result to CodeDeploy. The version
 * must apply the access rules that were synthesised. It must check a pair of each service, with any finding. It must
 * refuse a token of that pair, because the role of this function may only check. All questions share a deadline.
 */
export function createReleaseCheckFunction(variables: ReleaseCheckVariables, options: FunctionOptions = {}) {
  const { TOKEN_BROKER_ENVIRONMENT: environment, TOKEN_BROKER_URL: url } = variables;
  const { credentials, write = writeLine, now = Date.now, sleep = setTimeout } = options;
  const services = variables.TOKEN_BROKER_SERVICES.split(' ');
  const broker = createTokenBroker({ url, credentials, cache: false, maxAttempts: 1 });
  const checkPair = createPairChecker(broker);
  const askForToken = createProbe(broker);
  const listClients = createClientList({ environment, secretsManager: new SecretsManagerClient() });
  const codedeploy = createJsonApi(CODEDEPLOY, { send: createHttpsSender({ keepAlive: true }), environment });

  return async (event: unknown, context: InvocationContext): Promise<void> => {
    const hook = hookSchema.parse(event);
    const faults = await findFaults(now() + context.getRemainingTimeInMillis() - REPORTING_MS);
    const status = faults.length === 0 ? 'Succeeded' : 'Failed';
    const { DeploymentId: deploymentId, LifecycleEventHookExecutionId: lifecycleEventHookExecutionId } = hook;
    write(`${JSON.stringify({ environment, operation: 'release-check', outcome: status, deploymentId, faults })}\n`);
    const report = { deploymentId, lifecycleEventHookExecutionId, status };
    await withTimeLimit(REPORT_TIMEOUT_MS, (signal) =>
      withRetry(signal, () => codedeploy('PutLifecycleEventHookExecutionStatus', report, signal)),
    );
  };

  /** Returns the faults of the version. Asks repeatedly, because a new role and URL take time to reach all of AWS. */
  async function findFaults(endsAt: number): Promise<readonly string[]> {
    const listOnce = (timeoutMs: number) => listClients(timeoutMs).catch(() => undefined);
    const listed = await askUntil((clients) => clients !== undefined, listOnce, { endsAt }, { now, sleep });
    if (listed === undefined) return ['the clients could not be listed'];
    const { pairs: all } = pairsOf(listed, services);
    const pairs = services.flatMap((service) => all.find((pair) => pair.service === service) ?? []);
    const madeUp = services.slice(0, 1).map((service) => ({ client: 'no-such-client', service }));
    const faults = await Promise.all([
      faultOfRules(endsAt),
      ...pairs.map((pair) => faultOfCheck(pair, endsAt)),
      ...(pairs.length > 0 ? pairs : madeUp).map((pair) => faultOfProbe(pair, endsAt)),
    ]);
    return faults.filter((fault) => fault !== undefined);
  }

  /** Compares all access rules. The other questions prove only that the rules refuse the role of this function. */
  async function faultOfRules(endsAt: number): Promise<string | undefined> {
    const ask = (timeoutMs: number) => broker.whoami({ signal: signalAfter(timeoutMs) }).catch(() => undefined);
    const caller = await askUntil((caller) => caller !== undefined, ask, { endsAt }, { now, sleep });
    const digest = caller?.rulesDigest ?? 'unknown';
    const wanted = variables.TOKEN_BROKER_RULES_DIGEST;
    return digest === wanted ? undefined : `the access rules in force are ${digest}, and ${wanted} were synthesised`;
  }

  async function faultOfCheck(pair: Pair, endsAt: number): Promise<string | undefined> {
    // The version is not at fault for a bad credential or an outage of Secrets Manager.
    const isFine = (answer: PairAnswer) => answer.kind === 'checked' || answer.failure === 'secrets-unavailable';
    const answer = await askUntil(isFine, (timeoutMs) => checkPair(pair, timeoutMs), { endsAt }, { now, sleep });
    if (answer.kind === 'checked' || isFine(answer)) return undefined;
    return `the check of ${pairKey(pair)} ended with ${failureText(answer)}`;
  }

  async function faultOfProbe(pair: Pair, endsAt: number): Promise<string | undefined> {
    const ask = (timeoutMs: number) => askForToken(pair, timeoutMs);
    const isProven = (answer: ProbeAnswer) => answer.condition !== 'unproven';
    const { condition, said } = await askUntil(isProven, ask, { endsAt }, { now, sleep });
    return condition === 'denied' ? undefined : `a token of ${pairKey(pair)} was not refused: ${said}`;
  }
}

/** Time for the report, at worst. Every question ends before it. */
const REPORTING_MS = 15_000;
const REPORT_TIMEOUT_MS = 10_000;

/** @see https://docs.aws.amazon.com/codedeploy/latest/userguide/reference-appspec-file-structure-hooks.html */
const hookSchema = z.object({ DeploymentId: z.string(), LifecycleEventHookExecutionId: z.string() });
