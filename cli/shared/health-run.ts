import { z } from 'zod';
import { CommandFailure } from '../../client/commands/failure.ts';
import type { Shell } from '../../client/commands/shell.ts';
import { parseJsonObject } from '../../functions/broker/json.ts';
import { pairKey } from '../../functions/broker/pair.ts';
import { failureText } from '../../functions/health/rules/check-pairs.ts';
import { healthFunctionName } from '../../lib/settings/names.ts';
import type { Environment } from '../../lib/settings/settings.ts';
import { openClient } from './ask-aws.ts';
import { tableText } from './table.ts';

/** The finding of a pair, or the reason why it has no finding. */
interface PairFinding {
  readonly client: string;
  readonly service: string;
  readonly finding: string;
  readonly cause?: string | undefined;
}

/** Invokes the health function once, as its schedule does. @throws CommandFailure also when the run itself fails */
export async function runHealth(shell: Shell, { name, region }: Environment, timeoutMs = RUN_MS) {
  // Imported here only, because the SDK's client takes longer to load than `health` takes to show a table.
  const { Lambda } = await import('@aws-sdk/client-lambda');
  const FunctionName = healthFunctionName(name);
  // A second attempt would be a second run.
  const create = (config: object) => new Lambda({ ...config, maxAttempts: 1 });
  const lambda = openClient(create, 'LAMBDA', shell, { environment: name, region });
  const limits = { abortSignal: shell.signal, requestTimeout: timeoutMs };
  const { Payload } = await lambda.invoke({ FunctionName, Payload: '{}' }, limits);
  const { data } = HEALTH_RUN.safeParse(parseJsonObject(Payload?.transformToString() ?? ''));
  if (data === undefined) {
    throw new CommandFailure('health-failed', `A run of ${FunctionName} did not finish`, 'Its log shows why.');
  }
  const { checked, missed, probe } = data;
  // The version in use is at fault by the same rule as in the release check.
  const failed = missed.filter(({ reason, failure }) => reason === 'failed' && failure !== 'secrets-unavailable');
  return {
    pairs: [
      ...checked.map(({ pair, finding, cause }) => ({ ...pair, finding, cause })),
      ...missed.map(({ pair, reason, failure = reason }) => ({ ...pair, finding: failure })),
    ],
    faults: [
      ...failed.map((miss) => `the check of ${pairKey(miss.pair)} ended with ${failureText(miss)}`),
      ...(probe.condition === 'denied' ? [] : [`a role without an access rule was not refused: ${probe.said}`]),
    ],
  };
}

const PAIR = z.object({ client: z.string(), service: z.string() });
/** The members of the function's answer that are read here. */
const HEALTH_RUN = z.object({
  checked: z.array(z.object({ pair: PAIR, finding: z.string(), cause: z.string().optional() })),
  missed: z.array(
    z.object({ pair: PAIR, reason: z.string(), failure: z.string().optional(), detail: z.string().optional() }),
  ),
  probe: z.object({ condition: z.string(), said: z.string() }),
});

/** Longer than the function's timeout. */
const RUN_MS = 13 * 60_000;

/** Returns a table with a row for each client and a column for each service. */
export function findingsTable(pairs: readonly PairFinding[], shell?: Shell): string {
  const services = [...new Set(pairs.map(({ service }) => service))].toSorted();
  const rows = [...Map.groupBy(pairs, ({ client }) => client)].map(([client, own]) => {
    const findings = new Map(own.map((pair) => [pair.service, findingText(pair)]));
    // The client does not have every service.
    return [client, ...services.map((service) => findings.get(service) ?? '-')];
  });
  const table = tableText(['CLIENT', ...services], rows, shell);
  const columns = shell?.stdout.columns || Number.POSITIVE_INFINITY;
  if (table.split('\n').every(({ length }) => length <= columns)) return table;
  // The terminal is too narrow for a column for each service.
  const listed = pairs.map((pair) => [pair.client, pair.service, findingText(pair)]);
  return tableText(['CLIENT', 'SERVICE', 'FINDING'], listed, shell);
}

const findingText = ({ finding, cause }: PairFinding) => (cause === undefined ? finding : `${finding} (${cause})`);

/** Returns the number of pairs, in total and by finding. */
export function summaryOf(pairs: readonly PairFinding[]): string {
  const found = Map.groupBy(pairs, findingText);
  const groups = [...found.keys()].toSorted().map((finding) => `${found.get(finding)?.length} ${finding}`);
  return `${pairs.length} ${pairs.length === 1 ? 'pair' : 'pairs'}${groups.length === 0 ? '' : `: ${groups.join(', ')}`}`;
}
