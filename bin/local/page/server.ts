import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { parseJson } from '../../../functions/broker/json.ts';
import { type HttpAnswer, headerValue, json, type LoopbackServer, type ReceivedRequest, serve } from '../loopback.ts';
import type { PageCall } from './calls.ts';
import type { CallReport, Refusal, State } from './messages.ts';

interface Options {
  /** A free one when it is taken. */
  readonly port: number;
  readonly state: () => State;
  readonly call: PageCall;
}

/** Serves the page of `npm start` on 127.0.0.1, to a browser on this machine and to no other site that it looks at. */
export function startPage({ port, state, call }: Options): Promise<LoopbackServer> {
  async function respond(request: ReceivedRequest): Promise<HttpAnswer> {
    const { method, path } = request;
    if (method === 'GET' && path === '/state') return json(200, state());
    if (method === 'POST' && path === '/call') return answerCall(request);
    const file = method === 'GET' ? FILES.get(path) : undefined;
    if (file === undefined) return refusal(404, 'There is nothing here.');
    // Read anew, so that an edit shows on the next load.
    const body = await readFile(new URL(file.name, import.meta.url));
    return { status: 200, headers: { 'content-type': file.type }, body };
  }

  /** The call comes from the page itself, and as no form of another site can send it without being asked first. */
  async function answerCall(request: ReceivedRequest): Promise<HttpAnswer> {
    if (headerValue(request, 'origin') === undefined) return refusal(403, 'Another site may not ask for this.');
    if (headerValue(request, 'content-type') !== 'application/json') return refusal(415, 'Send application/json.');
    const form = callForm.safeParse(parseJson(Buffer.from(request.body).toString('utf8')));
    if (!form.success) return refusal(400, 'This is not a call.');
    try {
      const report = await call(form.data);
      if (report === undefined) return refusal(400, 'There is no such caller.');
      return json(200, report satisfies CallReport);
    } catch {
      return refusal(502, 'The broker gave no answer.');
    }
  }

  const withHeaders = async (request: ReceivedRequest): Promise<HttpAnswer> => {
    const { status, headers, body } = await respond(request);
    return { status, headers: { ...HEADERS, ...headers }, body };
  };
  return serve(withHeaders, { port, refusesForeign: true, maxBodyBytes: 16 * 1024 });
}

/** Nothing but the page's own files may run or be shown, nothing is kept, and no other site may frame it or learn of it. */
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

const text = z.string().max(1_000);

const callForm = z.strictObject({
  caller: text,
  operation: z.enum(['token', 'check', 'whoami']),
  client: text.optional(),
  service: text.optional(),
  min_ttl: z.number().optional(),
  refused: text.optional(),
  reveal: z.boolean().optional(),
});

function refusal(status: number, message: string): HttpAnswer {
  return json(status, { message } satisfies Refusal);
}

/** What the page is made of: nothing else is ever read from the disk. */
const FILES = new Map([
  ['/', { name: 'index.html', type: 'text/html; charset=utf-8' }],
  ['/page.css', { name: 'page.css', type: 'text/css; charset=utf-8' }],
  ['/page.js', { name: 'page.js', type: 'text/javascript; charset=utf-8' }],
  ['/icon.svg', { name: 'icon.svg', type: 'image/svg+xml' }],
]);
