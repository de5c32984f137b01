import { withNames } from '../../client/commands/failure.ts';
import { parseEndpoint, sign } from '../../client/index.ts';
import { isRecord, parseJson, parseJsonObject } from '../../functions/broker/json.ts';
import { FINDINGS, findingAdvice, PROBLEM_ADVICE } from '../../functions/vocabulary.ts';
import type { LocalCaller } from '../../lib/settings/local-config.ts';
import { LOCAL_ENVIRONMENT } from '../../lib/settings/names.ts';
import { commandsIn, sameCall } from '../command-lines.ts';
import type { SentRequest } from '../recorder.ts';
import { roleName } from '../shell.ts';
import { outcomeOf } from './feed.ts';
import type { CallForm, CallReport } from './messages.ts';
import type { StoredClient } from './overview.ts';
import { factsOf, wayOf } from './way.ts';

/** Signs and sends a request. Returns `undefined` for an unknown caller. Throws when no answer arrives. */
export type PageCall = (form: CallForm) => Promise<CallReport | undefined>;

interface Broker {
  readonly url: string;
  readonly callers: readonly LocalCaller[];
  readonly clients: () => readonly StoredClient[];
  readonly auditLine: (requestId: string) => string | undefined;
  readonly sentFor: (requestId: string) => readonly SentRequest[];
}

/** Calls the broker as a local caller and reports the request and the answer. The caller's key is not part of it. */
export function createPageCalls({ url, callers, clients, auditLine, sentFor }: Broker): PageCall {
  const endpoint = parseEndpoint(url, undefined);

  return async (form) => {
    const { caller: id, operation, reveal = false, ...members } = form;
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
    const milliseconds = performance.now() - startedAt;

    const { status, statusText, ok } = response;
    const answer = parseJsonObject(text) ?? {};
    const word = wordOf(response, answer);
    const outcome = outcomeOf(word);
    const requestId = response.headers.get('x-amzn-requestid') ?? '';
    const audited = parseJsonObject(auditLine(requestId) ?? '');
    const call = { response, outcome, answer, audited, sent: sentFor(requestId), milliseconds };
    const asked = operation === 'whoami' ? 'who it is' : `for ${client} on ${service}`;
    const shown = operation === 'token' && ok && !reveal ? withoutTokens(text) : pretty(text);
    const finding = FINDINGS.find((known) => known === word);
    const { state } = clients().find(({ name }) => name === client) ?? {};
    const issued = state && STOPPED_ADVICE[state];
    const advice =
      finding === undefined || finding === 'accepted'
        ? new Map(Object.entries({ ...PROBLEM_ADVICE, issued })).get(word)
        : findingAdvice(finding, { cause: `${answer.cause}` });
    const names = { environment: LOCAL_ENVIRONMENT, client };
    return {
      outcome,
      summary: `${roleName(caller.role)} asked ${asked}, ${status} in ${Math.round(milliseconds)} ms`,
      detail: typeof answer.detail === 'string' ? answer.detail : undefined,
      advice: advice && withNames(advice, names),
      // The first command of an advice helps. Other commands of it are for another cause.
      advised: commandsIn(advice ?? '', url, { ...names, service, caller: roleName(caller.role) }).slice(0, 1),
      way: wayOf(call),
      facts: factsOf(call),
      texts: [
        { name: 'answer', text: message(`${status} ${statusText}`, response.headers, shown) },
        { name: 'request', text: message(`POST ${url}${path}`, Object.entries(headers), pretty(body)) },
        ...sameCall(url, roleName(caller.role), form),
      ],
      fingerprint: word === 'issued' ? `${answer.fingerprint}` : undefined,
    };
  };
}

/** Explains a token of a client whose secret an operator has taken away. */
const STOPPED_ADVICE = {
  deleted: 'The secret is deleted. Its token serves until a check withdraws it: `client disable <client>` stops it.',
  disabled: 'The client is disabled. An instance may issue a remembered token for at most 60 s after the stop.',
};

/** Five seconds longer than the time limit of the broker's function. */
const TIMEOUT_MS = 20_000;

/** Formats a message, without the headers of every HTTP server. Hides signatures, which are valid for five minutes. */
function message(first: string, headers: Iterable<readonly [string, string]>, body: string): string {
  const kept = [...headers].filter(([name]) => !/^(connection|content-length|date|keep-alive)$/.test(name));
  const lines = kept.map(([name, value]) => `${name}: ${value.replace(/(Signature=)\w+/, '$1(hidden)')}`);
  return [first, ...lines, '', body].join('\n');
}

function wordOf({ status, ok }: Response, answer: Readonly<Record<string, unknown>>): string {
  const { type, finding, fingerprint, role } = answer;
  if (ok && typeof fingerprint === 'string') return 'issued';
  if (ok && role !== undefined) return 'identified';
  const word = ok ? finding : type;
  return typeof word === 'string' ? word : `AWS answered ${status}`;
}

/** Indents JSON. Returns any other text unchanged. */
function pretty(text: string): string {
  const value = parseJson(text);
  return value === undefined ? text : JSON.stringify(value, undefined, 2);
}

/** Returns an answer that may be seen on a shared screen. */
function withoutTokens(text: string): string {
  const answer = parseJson(text);
  if (!isRecord(answer)) return HIDDEN;
  const shown = Object.entries(answer).map(([name, value]) => [name, SHOWN.has(name) ? value : HIDDEN]);
  return JSON.stringify(Object.fromEntries(shown), undefined, 2);
}

const HIDDEN = '(hidden)';

/** Members that never contain a token. Members that a service's setting adds may contain anything. */
const SHOWN = new Set(['token_type', 'expires_in', 'expires_at', 'expiry_source', 'fingerprint', 'scope']);
