import { type Check, type SecretStage, type TokenBroker, TokenBrokerError } from '../../client/index.ts';
import type { Pair } from '../../functions/broker/pair/pair.ts';
import { asProblem } from './failure.ts';
import { mapFew } from './few.ts';

/** What came of checking one pair: a finding, or why nobody could say. */
export type PairCheck = Check | Unchecked;

interface Unchecked extends Pair {
  readonly stage: SecretStage;
  readonly failure: TokenBrokerError;
}

interface Options {
  readonly stage?: SecretStage;
  readonly signal: AbortSignal;
  /** Called after each pair. */
  readonly onChecked?: (done: number, total: number) => void;
}

/**
 * Checks pairs, a few at a time, and gives the outcomes in their order.
 *
 * @throws TokenBrokerError what would keep every pair from being checked: AWS credentials, permissions, the URL, Ctrl-C
 */
export async function checkPairs(
  broker: TokenBroker,
  pairs: readonly Pair[],
  options: Options,
): Promise<readonly PairCheck[]> {
  const { stage = 'AWSCURRENT', signal, onChecked } = options;
  return mapFew(pairs, (pair) => checkPair(broker, pair, stage, signal), onChecked);
}

async function checkPair(broker: TokenBroker, pair: Pair, stage: SecretStage, signal: AbortSignal): Promise<PairCheck> {
  try {
    return await broker.check({ ...pair, stage, signal });
  } catch (error) {
    if (!(error instanceof TokenBrokerError) || concernsAll(error)) throw error;
    return { ...pair, stage, failure: error };
  }
}

/** The broker itself judges a pair; whoever refuses before it will refuse the next pair too. */
function concernsAll({ problem, retryable }: TokenBrokerError): boolean {
  return problem === undefined && !retryable;
}

/** One word for what came of it. */
export function findingOf(check: PairCheck): string {
  return 'finding' in check ? check.finding : check.failure.type;
}

/** Named as on the wire, so that a script reads the same members here and there. */
export function checkMembers(check: PairCheck): Readonly<Record<string, unknown>> {
  const { client, service, stage } = check;
  if ('failure' in check) return { client, service, stage, problem: asProblem(check.failure) };
  const { finding, version, checkedAt, provenBy, expiresAt } = check;
  return {
    ...{ client, service, stage, finding, version },
    checked_at: new Date(checkedAt).toISOString(),
    proven_by: provenBy,
    expires_at: expiresAt && new Date(expiresAt).toISOString(),
  };
}
