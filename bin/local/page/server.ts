import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { z } from 'zod';
import { listen, receive } from '../loopback.ts';
import type { PageCalls } from './calls.ts';
import { streamEvents } from './events.ts';
import type { RequestFeed } from './feed.ts';
import { readPageFile } from './files.ts';
import { createGuard } from './guard.ts';
import type { CallForm, Overview, Refusal, RevealedAnswer, RevealForm } from './messages.ts';

export interface Page {
  readonly url: string;
  /** Ends open connections, too. */
  readonly close: () => Promise<void>;
}

interface Options {
  /** 0 takes a free one. */
  readonly port: number;
  readonly overview: Overview;
  readonly feed: RequestFeed;
  readonly calls: PageCalls;
}

/** Serves the page of `npm start` on 127.0.0.1, to a browser on this machine and to no other site that it looks at. */
export async function startPage({ port, overview, feed, calls }: Options): Promise<Page> {
  const server = createServer((request, response) => {
    respond(request, response).catch(() => response.destroy());
  });
  const boundPort = await listen(server, port, 'PAGE_PORT');
  const refuse = createGuard(boundPort);

  async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    for (const [name, value] of Object.entries(HEADERS)) response.setHeader(name, value);
    const refused = refuse(request);
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
      answer(response, 200, report);
    } catch {
      refusal(response, 502, 'The broker gave no answer.');
    }
  }

  function answerReveal(form: RevealForm | undefined, response: ServerResponse): void {
    const revealed = form && calls.reveal(form.hidden);
    if (revealed === undefined) refusal(response, 404, 'This answer is not kept any longer: ask again.');
    else answer(response, 200, { answer: revealed } satisfies RevealedAnswer);
  }

  return {
    url: `http://127.0.0.1:${boundPort}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** Nothing but the page's own files may run or be shown, nothing is kept, and nobody may frame it or learn of it. */
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
  operation: z.enum(['token', 'check']),
  client: text,
  service: text,
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

function answer(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

function refusal(response: ServerResponse, status: number, message: string): void {
  answer(response, status, { message } satisfies Refusal);
}
