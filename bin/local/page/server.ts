import { readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { z } from 'zod';
import { FOREIGN, listen, listenNear, type Refused, receive, refuseForeign, sendJson, stop } from '../loopback.ts';
import type { PageCalls } from './calls.ts';
import type { RequestFeed } from './feed.ts';
import type { CallForm, Overview, Refusal, RevealedAnswer, RevealForm, SeenRequest } from './messages.ts';

export interface Page {
  readonly url: string;
  /** Ends open connections, too. */
  readonly close: () => Promise<void>;
}

interface Options {
  /** 0 takes a free one. */
  readonly port: number;
  /** Whether a free one will do when it is taken. */
  readonly mayMove: boolean;
  readonly overview: () => Overview;
  readonly feed: RequestFeed;
  readonly calls: PageCalls;
}

/** Serves the page of `npm start` on 127.0.0.1, to a browser on this machine and to no other site that it looks at. */
export async function startPage({ port, mayMove, overview, feed, calls }: Options): Promise<Page> {
  const server = createServer((request, response) => {
    respond(request, response).catch(() => response.destroy());
  });
  const boundPort = mayMove ? await listenNear(server, port) : await listen(server, port, 'PAGE_PORT');

  async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    for (const [name, value] of Object.entries(HEADERS)) response.setHeader(name, value);
    const refused = refuseForeign(request) ?? refuseForm(request);
    if (refused !== undefined) return refusal(response, refused.status, refused.message);
    if (request.method === 'GET') return answerGet(request.url ?? '', response);
    if (request.method === 'POST') return answerPost(request, response);
    response.setHeader('allow', 'GET, POST');
    refusal(response, 405, 'Send a GET or a POST.');
  }

  async function answerGet(path: string, response: ServerResponse): Promise<void> {
    if (path === '/events') return streamEvents(response, overview, feed);
    const file = await readPageFile(path);
    if (file === undefined) return refusal(response, 404, 'There is nothing here.');
    response.writeHead(200, { 'content-type': file.type }).end(file.content);
  }

  async function answerPost(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { path, body } = await receive(request, MAX_BODY_BYTES);
    if (body.length > MAX_BODY_BYTES) return refusal(response, 413, 'Send less.');
    if (path === '/call') return answerCall(parse(callForm, body), response);
    if (path === '/reveal') return answerReveal(parse(revealForm, body), response);
    refusal(response, 404, 'There is nothing here.');
  }

  async function answerCall(form: CallForm | undefined, response: ServerResponse): Promise<void> {
    if (form === undefined) return refusal(response, 400, 'This is not a call.');
    try {
      const report = await calls.call(form);
      if (report === undefined) return refusal(response, 400, 'There is no such caller.');
      sendJson(response, 200, report);
    } catch {
      refusal(response, 502, 'The broker gave no answer.');
    }
  }

  function answerReveal(form: RevealForm | undefined, response: ServerResponse): void {
    const revealed = form && calls.reveal(form.hidden);
    if (revealed === undefined) refusal(response, 404, 'This answer is not kept any longer: ask again.');
    else sendJson(response, 200, { answer: revealed } satisfies RevealedAnswer);
  }

  return {
    url: `http://127.0.0.1:${boundPort}`,
    close: () => stop(server),
  };
}

/** A POST comes from the page itself, and as no form of another site can send it without being asked first. */
function refuseForm({ method, headers }: IncomingMessage): Refused | undefined {
  if (method !== 'POST') return undefined;
  if (headers.origin === undefined) return FOREIGN;
  return headers['content-type'] === 'application/json'
    ? undefined
    : { status: 415, message: 'Send application/json.' };
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

const MAX_BODY_BYTES = 16 * 1024;

const text = z.string().max(1_000);

const callForm = z.strictObject({
  caller: text,
  operation: z.enum(['token', 'check', 'whoami']),
  client: text.optional(),
  service: text.optional(),
  min_ttl: z.number().optional(),
  refused: text.optional(),
});

const revealForm = z.strictObject({ hidden: text });

function parse<Form>(schema: z.ZodType<Form>, body: Uint8Array): Form | undefined {
  try {
    return schema.parse(JSON.parse(Buffer.from(body).toString('utf8')));
  } catch {
    return undefined;
  }
}

function refusal(response: ServerResponse, status: number, message: string): void {
  sendJson(response, status, { message } satisfies Refusal);
}

interface PageFile {
  readonly type: string;
  readonly content: Buffer;
}

/** The file that is shown at a path, if there is one; read anew, so that an edit shows on the next load. */
async function readPageFile(path: string): Promise<PageFile | undefined> {
  const file = FILES.get(path);
  return file && { type: file.type, content: await readFile(new URL(file.name, import.meta.url)) };
}

/** What the page is made of: nothing else is ever read from the disk. */
const FILES = new Map([
  ['/', { name: 'index.html', type: 'text/html; charset=utf-8' }],
  ['/page.css', { name: 'page.css', type: 'text/css; charset=utf-8' }],
  ['/page.js', { name: 'page.js', type: 'text/javascript; charset=utf-8' }],
  ['/icon.svg', { name: 'icon.svg', type: 'image/svg+xml' }],
]);

/** Server-sent events: what is running and the last requests at once, then what changes, until the page goes away. */
function streamEvents(response: ServerResponse, overview: () => Overview, feed: RequestFeed): void {
  let told = '';
  const tell = () => {
    const now = JSON.stringify(overview());
    if (now !== told) response.write(`event: overview\ndata: ${now}\n\n`);
    told = now;
  };
  const send = (requests: readonly SeenRequest[]) => response.write(`data: ${JSON.stringify(requests)}\n\n`);

  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.write(`retry: ${RETRY_MS}\n`);
  tell();
  const timer = setInterval(tell, LOOK_MS);
  send(feed.recent());
  const unsubscribe = feed.subscribe((request) => {
    // What a page that has stopped reading is sent would pile up; once it is cut off, it connects again.
    if (response.writableLength > MAX_UNREAD_BYTES) response.destroy();
    else send([request]);
  });
  response.once('close', () => {
    clearInterval(timer);
    unsubscribe();
  });
}

/** How soon a page tries again when `npm start` was ended. */
const RETRY_MS = 1_000;

/** How soon a page shows what an operator has changed. */
const LOOK_MS = 1_000;

const MAX_UNREAD_BYTES = 256 * 1024;
