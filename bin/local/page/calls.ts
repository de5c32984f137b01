import { withNames } from '../../../client/commands/failure.ts';
import { parseEndpoint, sign } from '../../../client/index.ts';
import { isRecord, parseJson } from '../../../functions/broker/json.ts';
import { FINDING_ADVICE, PROBLEM_ADVICE } from '../../../functions/contract.ts';
import type { LocalCaller } from '../../../lib/settings/local-config.ts';
import { LOCAL_ENVIRONMENT } from '../config.ts';
import { envCommand, quote, roleName } from '../shell.ts';
import { outcomeOf } from './feed.ts';
import type { CallForm, CallReport } from './messages.ts';

/** Signs and sends one request; `undefined` when there is no such caller. Throws when there is no answer. */
export type PageCall = (form: CallForm) => Promise<CallReport | undefined>;

/** Calls the broker as one of its local callers, whose keys stay here, and tells what was sent and what came back. */
export function createPageCalls(url: string, callers: readonly LocalCaller[]): PageCall {
  const endpoint = parseEndpoint(url, undefined);

  return async ({ caller: id, operation, reveal = false, ...members }) => {
    const caller = callers.find(({ accessKeyId }) => accessKeyId === id);
    if (caller === undefined) return undefined;
    const path = `/${operation}`;
    const body = JSON.stringify(members);
    const { client, service } = members;
    const headers = await sign({ endpoint, credentials: async () => caller, clock: Date }, path, body);

    const startedAt = performance.now();
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const response = await fetch(url + path, { method: 'POST', headers, body, redirect: 'manual', signal });
    const text = await response.text();
    const milliseconds = Math.round(performance.now() - startedAt);

    const { status, statusText, ok } = response;
    const { word, fingerprint } = wordOf(response, parseJson(text));
    const asked = operation === 'whoami' ? 'who it is' : `for ${client} on ${service}`;
    const shown = operation === 'token' && ok && !reveal ? withoutTokens(text) : pretty(text);
    return {
      outcome: outcomeOf(word),
      summary: `: ${roleName(caller.role)} asked ${asked}, ${status} in ${milliseconds} ms`,
      advice: adviceFor(word, client),
      request: [`POST ${url}${path}`, ...headerLines(Object.entries(headers)), '', pretty(body)].join('\n'),
      answer: [`${status} ${statusText}`, ...headerLines(response.headers), '', shown].join('\n'),
      curl: curlCommand(url, path, body, roleName(caller.role)),
      fingerprint,
    };
  };
}

/** Five seconds beyond the time limit of the broker's function. */
const TIMEOUT_MS = 20_000;

/** Without what every HTTP server adds. A signature is not a key, but its holder can send this request for five minutes. */
function headerLines(headers: Iterable<readonly [string, string]>): readonly string[] {
  const told = [...headers].filter(([name]) => !/^(connection|content-length|date|keep-alive)$/.test(name));
  return told.map(([name, value]) => `${name}: ${value.replace(/(Signature=)\w+/, '$1(hidden)')}`);
}

function wordOf({ status, ok }: Response, body: unknown): { readonly word: string; readonly fingerprint?: string } {
  const { type, finding, fingerprint, role } = isRecord(body) ? body : {};
  if (ok && typeof fingerprint === 'string') return { word: 'issued', fingerprint };
  if (ok && role !== undefined) return { word: 'identified' };
  const word = ok ? finding : type;
  return { word: typeof word === 'string' ? word : `AWS answered ${status}` };
}

/** The words of the command line. */
function adviceFor(word: string, client: string | undefined): string | undefined {
  const advice = new Map(Object.entries({ ...FINDING_ADVICE, ...PROBLEM_ADVICE })).get(word);
  return advice && withNames(advice, { environment: LOCAL_ENVIRONMENT, client });
}

/** Signs as the caller, whose keys `env` gives to a terminal and the page never has; leaves that terminal as it was. */
function curlCommand(url: string, path: string, body: string, caller: string): string {
  const curl = [
    'curl --aws-sigv4 aws:amz:us-east-1:lambda --user "$AWS_ACCESS_KEY_ID:$AWS_SECRET_ACCESS_KEY"',
    `-H 'content-type: application/json' -d ${quote(body)}`,
    `${url}${path}`,
  ].join(' \\\n  ');
  return `(${envCommand(url, caller)}\n${curl})`;
}

/** JSON with a line for each member; anything else as it is. */
function pretty(text: string): string {
  const value = parseJson(text);
  return value === undefined ? text : JSON.stringify(value, undefined, 2);
}

/** An answer as an onlooker of the screen may see it. */
function withoutTokens(text: string): string {
  const answer = parseJson(text);
  if (!isRecord(answer)) return HIDDEN;
  const shown = Object.entries(answer).map(([name, value]) => [name, SHOWN.has(name) ? value : HIDDEN]);
  return JSON.stringify(Object.fromEntries(shown), undefined, 2);
}

const HIDDEN = '(hidden)';

/** Known to be no token; a service may be set to hand on members of its own, and those may be anything. */
const SHOWN = new Set(['token_type', 'expires_in', 'expires_at', 'expiry_source', 'fingerprint', 'scope']);
