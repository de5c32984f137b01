import { randomUUID } from 'node:crypto';
import { withNames } from '../../../client/commands/failure.ts';
import { parseEndpoint, sign } from '../../../client/index.ts';
import { isRecord, parseJson } from '../../../functions/broker/json.ts';
import { FINDING_ADVICE, PROBLEM_ADVICE } from '../../../functions/contract.ts';
import type { LocalCaller } from '../../../lib/settings/local-config.ts';
import { LOCAL_ENVIRONMENT } from '../config.ts';
import { envCommand, quote, roleName } from '../shell.ts';
import { outcomeOf } from './feed.ts';
import type { CallForm, CallReport } from './messages.ts';

export interface PageCalls {
  /** Signs and sends one request; `undefined` when there is no such caller. Throws when there is no answer. */
  readonly call: (form: CallForm) => Promise<CallReport | undefined>;
  /** A hidden answer with its token, unless it is too long ago. */
  readonly reveal: (hidden: string) => string | undefined;
}

interface Options {
  /** The broker's Function URL. */
  readonly url: string;
  readonly callers: readonly LocalCaller[];
}

/** Calls the broker as one of its local callers, whose keys stay here, and tells what was sent and what came back. */
export function createPageCalls({ url, callers }: Options): PageCalls {
  const endpoint = parseEndpoint(url, undefined);
  const answers = createHiddenAnswers();

  async function call({ caller: id, operation, ...members }: CallForm): Promise<CallReport | undefined> {
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

    const { status } = response;
    const { word, fingerprint } = wordOf(response, parseJson(text));
    const head = answerHead(response);
    const asked = operation === 'whoami' ? 'who it is' : `for ${client} on ${service}`;
    return {
      outcome: outcomeOf(word),
      summary: `: ${roleName(caller.role)} asked ${asked}, ${status} in ${milliseconds} ms`,
      advice: adviceFor(word, client),
      request: [`POST ${url}${path}`, ...requestHeaders(headers), '', pretty(body)].join('\n'),
      ...(operation === 'token' && response.ok ? answers.hide(head, text) : { answer: head + pretty(text) }),
      curl: curlCommand(url, path, body, roleName(caller.role)),
      fingerprint,
    };
  }

  return { call, reveal: answers.reveal };
}

/** Five seconds beyond the time limit of the broker's function. */
const TIMEOUT_MS = 20_000;

/** A signature is not a key, but its holder can send this request again for five minutes. */
function requestHeaders(headers: Readonly<Record<string, string>>): readonly string[] {
  return Object.entries(headers).map(([name, value]) => `${name}: ${value.replace(/(Signature=)\w+/, '$1(hidden)')}`);
}

/** What the broker, or AWS in front of it, has to say; not what every HTTP server adds. */
const TOLD_HEADERS = [
  'content-type',
  'cache-control',
  'cache-status',
  'server-timing',
  'retry-after',
  'x-amzn-errortype',
  'x-amzn-requestid',
];

function answerHead({ status, statusText, headers }: Response): string {
  const told = TOLD_HEADERS.filter((name) => headers.has(name)).map((name) => `${name}: ${headers.get(name)}`);
  return [`${status} ${statusText}`, ...told, '', ''].join('\n');
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

/** An answer without what an onlooker of the screen must not see. */
interface ShownAnswer {
  readonly answer: string;
  /** For `reveal`; absent when nothing is hidden. */
  readonly hidden?: string | undefined;
}

/** Keeps tokens away from the page until it asks for one, and only those of the last few answers. */
function createHiddenAnswers() {
  const kept = new Map<string, string>();

  return {
    hide(head: string, body: string): ShownAnswer {
      const id = randomUUID();
      kept.set(id, head + pretty(body));
      for (const oldest of [...kept.keys()].slice(0, -MAX_KEPT)) kept.delete(oldest);
      return { answer: head + withoutTokens(body), hidden: id };
    },
    reveal: (id: string): string | undefined => kept.get(id),
  };
}

/** JSON with a line for each member; anything else as it is. */
function pretty(text: string): string {
  const value = parseJson(text);
  return value === undefined ? text : JSON.stringify(value, undefined, 2);
}

const MAX_KEPT = 20;

/** Known to be no token; a service may be set to hand on members of its own, and those may be anything. */
const SHOWN = new Set(['token_type', 'expires_in', 'expires_at', 'expiry_source', 'fingerprint', 'scope']);

function withoutTokens(text: string): string {
  const answer = parseJson(text);
  if (!isRecord(answer)) return `(${text.length} characters, hidden)`;
  const shown = Object.entries(answer).map(([name, value]) => [name, SHOWN.has(name) ? value : placeholder(value)]);
  return JSON.stringify(Object.fromEntries(shown), undefined, 2);
}

function placeholder(value: unknown): string {
  return typeof value === 'string' ? `(${value.length} characters, hidden)` : '(hidden)';
}
