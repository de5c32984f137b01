import { styleText } from 'node:util';
import { Sha256 } from '@aws-crypto/sha256-js';
import { SignatureV4 } from '@smithy/signature-v4';
import { z } from 'zod';
import { aborted, CommandFailure } from '../../../client/commands/failure.ts';
import { tableText } from '../../../client/commands/output.ts';
import type { Shell } from '../../../client/commands/shell.ts';
import { createHttpsSender } from '../../../functions/aws/https/sender.ts';
import { parseJsonObject } from '../../../functions/broker/json.ts';
import { FINDINGS } from '../../../functions/contract.ts';
import type { Environment } from '../../../lib/settings/environment.ts';
import { healthFunctionName } from '../../../lib/settings/names.ts';
import { awsFailure } from './ask-aws.ts';
import { SEVERITIES, type Severity } from './pair-state.ts';

/** What one pair was found to be: a finding, or why there is none. */
interface PairFinding {
  readonly client: string;
  readonly service: string;
  readonly finding: string;
}

/** What a run of health has found. */
interface SeenRun {
  readonly pairs: readonly PairFinding[];
  /** What speaks against the version in use, as the release check says it. */
  readonly faults: readonly string[];
}

/** Has the health function run once, as its schedule does. @throws CommandFailure also when the run itself fails */
export async function runHealth(
  shell: Shell,
  place: Pick<Environment, 'name' | 'region'>,
  timeoutMs = RUN_MS,
): Promise<SeenRun> {
  const functionName = healthFunctionName(place.name);
  const fail = (error: unknown) =>
    Promise.reject(shell.signal.aborted ? aborted() : awsFailure(error, 'lambda:InvokeFunction', place.region));
  const { status, headers, body } = await invoke(shell, place.region, functionName, timeoutMs).catch(fail);
  if (status !== 200) {
    const name = headers['x-amzn-errortype']?.replace(/:.*/, '') ?? `${status}`;
    return fail(Object.assign(new Error(name), { name }));
  }
  const { data } = HEALTH_RUN.safeParse(parseJsonObject(Buffer.from(body).toString()));
  if (data === undefined) {
    throw new CommandFailure('health-failed', `A run of ${functionName} did not come to its end`, 'Its log says why.');
  }
  return seenRun(data);
}

function seenRun({ checked, missed, probe }: z.output<typeof HEALTH_RUN>): SeenRun {
  const failed = missed.filter(({ reason, failure }) => reason === 'failed' && failure !== 'secrets-unavailable');
  return {
    pairs: [
      ...checked.map(({ pair, finding }) => ({ ...pair, finding })),
      ...missed.map(({ pair, reason, failure = reason }) => ({ ...pair, finding: failure })),
    ],
    faults: [
      ...failed.map(({ pair, failure }) => `the check of ${pair.client}/${pair.service} ended with ${failure}`),
      ...(probe.condition === 'denied' ? [] : [`a role without an access rule was not refused: ${probe.said}`]),
    ],
  };
}

const PAIR = z.object({ client: z.string(), service: z.string() });
/** What the function gives of a run, as far as it is read here. */
const HEALTH_RUN = z.object({
  checked: z.array(z.object({ pair: PAIR, finding: z.string() })),
  missed: z.array(z.object({ pair: PAIR, reason: z.string(), failure: z.string().optional() })),
  probe: z.object({ condition: z.string(), said: z.string() }),
});

/** Not by `fetch`, which waits no longer than five minutes. */
async function invoke({ env, signal, credentials }: Shell, region: string, functionName: string, timeoutMs: number) {
  const host = `https://lambda.${region}.amazonaws.com${region.startsWith('cn-') ? '.cn' : ''}`;
  const url = new URL(`/2015-03-31/functions/${functionName}/invocations`, env.AWS_ENDPOINT_URL_LAMBDA || host);
  const { protocol, hostname, pathname: path } = url;
  const request = { method: 'POST', protocol, hostname, path, headers: { host: url.host }, body: '{}' } as const;
  const signer = new SignatureV4({ service: 'lambda', region, credentials, sha256: Sha256 });
  const { headers } = await signer.sign(request);
  return createHttpsSender()({ ...request, url, headers }, { timeoutMs, maxBodyBytes: MAX_ANSWER_BYTES, signal });
}

/** Longer than the function may take. */
const RUN_MS = 13 * 60_000;
/** As much as Lambda gives. */
const MAX_ANSWER_BYTES = 6 * 1_024 * 1_024;

/** One row for each client, one column for each service. */
export function findingsTable(pairs: readonly PairFinding[], { stdout, env }: Shell): string {
  const services = [...new Set(pairs.map(({ service }) => service))].toSorted();
  const rows = [...Map.groupBy(pairs, ({ client }) => client)].map(([client, own]) => {
    const findings = new Map(own.map(({ service, finding }) => [service, finding]));
    // The client does not have every service.
    return [client, ...services.map((service) => findings.get(service) ?? '-')];
  });
  // @see https://no-color.org
  const isColourful = Boolean(stdout.isTTY && !env.NO_COLOR);
  return tableText(['CLIENT', ...services], rows, isColourful ? paint : undefined);
}

function paint(text: string, padded: string): string {
  const finding = FINDINGS.find((each) => each === text);
  return finding ? styleText(COLOURS[SEVERITIES[finding]], padded, { validateStream: false }) : padded;
}

const COLOURS = { good: 'green', idle: 'gray', passing: 'yellow', bad: 'red' } as const satisfies Record<
  Severity,
  string
>;

/** How many pairs there are, and how they are. */
export function summaryOf(pairs: readonly PairFinding[]): string {
  const found = Map.groupBy(pairs, ({ finding }) => finding);
  const groups = [...found.keys()].toSorted().map((finding) => `${found.get(finding)?.length} ${finding}`);
  return `${pairs.length} ${pairs.length === 1 ? 'pair' : 'pairs'}${groups.length === 0 ? '' : `: ${groups.join(', ')}`}`;
}
