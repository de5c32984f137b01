import type { ServerResponse } from 'node:http';
import type { RequestFeed } from './feed.ts';
import type { Overview, SeenRequest } from './messages.ts';

/** Server-sent events: what is running and the last requests at once, then each that comes, until the page goes away. */
export function streamEvents(response: ServerResponse, overview: Overview, feed: RequestFeed): void {
  const send = (requests: readonly SeenRequest[]) => response.write(`data: ${JSON.stringify(requests)}\n\n`);

  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.write(`retry: ${RETRY_MS}\nevent: overview\ndata: ${JSON.stringify(overview)}\n\n`);
  send(feed.recent());
  const unsubscribe = feed.subscribe((request) => {
    // What somebody who has stopped reading is sent would pile up; a page that is cut off connects again.
    if (response.writableLength > MAX_UNREAD_BYTES) response.destroy();
    else send([request]);
  });
  response.once('close', unsubscribe);
}

/** How soon a page tries again when `npm start` was ended. */
const RETRY_MS = 1_000;

const MAX_UNREAD_BYTES = 256 * 1024;
