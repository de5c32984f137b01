import { aborted, CommandFailure } from '../../../client/commands/failure.ts';
import type { Shell } from '../../../client/commands/shell.ts';
import { causeWord } from '../../../functions/aws/calls.ts';
import { parseJsonObject } from '../../../functions/broker/json.ts';

/** Where the broker of `npm start` takes unsigned orders. */
type Place = 'TOKEN_BROKER_CONTROL_URL' | 'TOKEN_BROKER_STAND_IN_URL';

/** Sends an order to the local broker that the variables of this terminal name; gives the members of its answer. */
export async function orderLocalBroker(
  shell: Shell,
  place: Place,
  path: string,
): Promise<Readonly<Record<string, unknown>>> {
  const url = new URL(path, localUrl(shell, place));
  const { status, text } = await post(url, shell.signal);
  const answer = status === 204 ? {} : parseJsonObject(text);
  if (answer !== undefined && (status === 200 || status === 204)) return answer;
  throw new CommandFailure('control-failed', `The local broker answered ${status}`, ADVICE);
}

/** Elsewhere than on this machine schedule and services belong to others. */
function localUrl({ env }: Shell, place: Place): URL {
  const text = env[place] ?? '';
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== 'http:' || !/^(127\.0\.0\.1|\[::1\]|localhost)$/.test(url.hostname)) {
    throw new CommandFailure('control-unknown', `${place} is not the one of a local broker`, ADVICE);
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
