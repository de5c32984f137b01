import { causeWord } from '../../functions/aws/errors.ts';
import { isJsonObject, parseJson } from '../json.ts';
import { aborted, CommandFailure } from './failure.ts';
import type { PairHealth } from './health-table.ts';

/** What the health function gave back, and what of it a person wants to see. */
export interface ScheduledRun {
  readonly summary: Readonly<Record<string, unknown>>;
  readonly pairs: readonly PairHealth[];
  readonly notices: readonly string[];
}

/** Lets the local broker run the scheduled check of all credentials. */
export async function runSchedule(signal: AbortSignal): Promise<ScheduledRun> {
  const url = controlUrl(process.env.TOKEN_BROKER_CONTROL_URL ?? '');
  const answer = await post(new URL('/health-run', url), signal);
  const summary = parseJson(answer.text);
  if (answer.status !== 200 || !isJsonObject(summary)) {
    throw new CommandFailure('control-failed', `The local broker answered ${answer.status}`, ADVICE);
  }
  const pairs = [...listOf(summary.checked), ...listOf(summary.missed)].flatMap((entry) => readPair(entry) ?? []);
  return { summary, pairs, notices: noticesOn(summary) };
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** A pair that the run did not reach has no finding. */
function readPair(entry: unknown): PairHealth | undefined {
  if (!isJsonObject(entry) || !isJsonObject(entry.pair)) return undefined;
  const { client, service } = entry.pair;
  if (typeof client !== 'string' || typeof service !== 'string') return undefined;
  return { client, service, finding: typeof entry.finding === 'string' ? entry.finding : 'not-reached' };
}

function noticesOn({ probe, reported }: ScheduledRun['summary']): readonly string[] {
  const condition = isJsonObject(probe) ? probe.condition : undefined;
  const sent = isJsonObject(reported) ? reported.sent : undefined;
  return [
    ...(typeof condition === 'string' ? [`A role without an access rule: ${condition}`] : []),
    ...(typeof sent === 'number' ? [`Messages to the operators: ${sent}`] : []),
  ];
}

/** Elsewhere than on this machine the schedule belongs to AWS. */
function controlUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== 'http:' || !/^(127\.0\.0\.1|\[::1\]|localhost)$/.test(url.hostname)) {
    throw new CommandFailure('control-unknown', 'TOKEN_BROKER_CONTROL_URL is not the one of a local broker', ADVICE);
  }
  return url;
}

async function post(url: URL, signal: AbortSignal) {
  try {
    const response = await fetch(url, { method: 'POST', redirect: 'manual', signal });
    return { status: response.status, text: await response.text() };
  } catch (error) {
    if (signal.aborted) throw aborted();
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    throw new CommandFailure('control-unreachable', `The local broker did not answer (${causeWord(cause)})`, ADVICE);
  }
}

const ADVICE =
  'npm start runs a local broker and prints what to set; in AWS the schedule runs by itself, and health without --run checks now.';
