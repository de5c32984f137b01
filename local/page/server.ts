import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { z } from 'zod';
import { parseJson } from '../../functions/broker/json.ts';
import { type HttpAnswer, headerValue, json, type LoopbackServer, type ReceivedRequest, serve } from '../loopback.ts';
import type { PageCall } from './calls.ts';
import { CALL, INCIDENT, type State } from './messages.ts';

interface Options {
  readonly port: number;
  readonly state: () => Promise<State>;
  readonly auditLine: (requestId: string) => string | undefined;
  readonly call: PageCall;
  /** Orders a service, or `table`, to play an incident. Returns `undefined` for an unknown name. */
  readonly play: (incident: z.infer<typeof INCIDENT>) => { readonly says: string } | undefined;
  readonly runSchedule: () => Promise<object | undefined>;
}

/** Serves the page of `npm start` on 127.0.0.1. Refuses requests that a browser sends for another site. */
export function startPage({ port, state, auditLine, call, play, runSchedule }: Options): Promise<LoopbackServer> {
  const orders = new Map<string, Order>([
    ['/call', async (form) => call(CALL.parse(form))],
    ['/incident', async (form) => play(INCIDENT.parse(form))],
    ['/schedule', async (form) => ({ ...NOTHING_ELSE.parse(form), ...(await runSchedule()) })],
  ]);

  async function respond(request: ReceivedRequest): Promise<HttpAnswer> {
    const { method, path } = request;
    if (method === 'POST') return answerOrder(request, orders.get(path));
    if (method !== 'GET') return NOTHING;
    if (path === '/state') return json(200, await state());
    const line = auditLine(path.replace('/audit/', ''));
    if (line !== undefined) return json(200, parseJson(line));
    const [type, read] = FILES.get(path) ?? [];
    // Reads the file each time, so that an edit shows on the next load.
    return read ? { status: 200, headers: { 'content-type': `${type}` }, body: await read() } : NOTHING;
  }

  const withHeaders = async (request: ReceivedRequest): Promise<HttpAnswer> => {
    const answer = await respond(request);
    return { ...answer, headers: { ...HEADERS, ...answer.headers } };
  };
  return serve(withHeaders, { port, refusesForeign: true, maxBodyBytes: 16 * 1024 });
}

/** Accepts an order only with an origin, and in a media type that another site cannot send without a preflight. */
async function answerOrder(request: ReceivedRequest, run: Order | undefined): Promise<HttpAnswer> {
  if (run === undefined) return NOTHING;
  if (headerValue(request, 'origin') === undefined) return refusal(403, 'A request of another site is refused.');
  if (headerValue(request, 'content-type') !== 'application/json') return refusal(415, 'Send application/json.');
  try {
    const answer = await run(parseJson(Buffer.from(request.body).toString('utf8')));
    return answer === undefined ? refusal(400, 'This name does not exist.') : json(200, answer);
  } catch (error) {
    if (error instanceof z.ZodError) return refusal(400, 'The body of the request is not valid.');
    return refusal(502, 'The broker did not answer.');
  }
}

/** Returns `undefined` for a name that does not exist. Throws a `ZodError` when the form is invalid. */
type Order = (form: unknown) => Promise<object | undefined>;

/** Headers that allow only the page's own files, and forbid caching, framing, and reads by other sites. */
const HEADERS = {
  'cache-control': 'no-store',
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
};

const NOTHING_ELSE = z.strictObject({});

const refusal = (status: number, message: string) => json(status, { message });
const NOTHING = refusal(404, 'There is nothing here.');

/** The files of the page. Nothing else is ever read from the disk. */
const FILES = new Map<string, readonly [type: string, read: () => Promise<Uint8Array | undefined>]>([
  ['/', ['text/html; charset=utf-8', file('browser/index.html')]],
  ['/page.css', ['text/css; charset=utf-8', file('browser/page.css')]],
  ['/page.js', ['text/javascript; charset=utf-8', bundle]],
  ['/icon.svg', ['image/svg+xml', file('browser/icon.svg')]],
  ['/architecture.svg', ['image/svg+xml', file('../../docs/architecture.svg')]],
]);

function file(path: string) {
  return () => readFile(new URL(path, import.meta.url));
}

/** Bundles the script of the page with its library into a single module. */
async function bundle(): Promise<Uint8Array | undefined> {
  const entryPoints = [fileURLToPath(new URL('browser/page.tsx', import.meta.url))];
  const { outputFiles } = await build({ entryPoints, bundle: true, minify: true, format: 'esm', write: false });
  return outputFiles[0]?.contents;
}
