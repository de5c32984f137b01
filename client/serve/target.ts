import { Problem } from '../../functions/broker/problem.ts';
import { NAME_PATTERN } from '../../functions/vocabulary.ts';

/** The API of each service that calls are forwarded to. */
export type Apis = ReadonlyMap<string, URL>;

/**
 * Reads `/api/CLIENT/SERVICE/rest` as a call of that service's API. Throws for any other target, and for a target that
 * some server may read as a path outside of the API. The host never comes from the target.
 *
 * @throws Problem `not-found`
 */
export function parseTarget(apis: Apis, target: string) {
  const [, client = '', service = '', rest = ''] = /^\/api\/([^/?]{1,63})\/([^/?]{1,63})(.*)$/s.exec(target) ?? [];
  const api = apis.get(service);
  if (api === undefined || !NAME_PATTERN.test(client)) {
    throw new Problem('not-found', 'Call /api/CLIENT/SERVICE/… of a service that --api names.');
  }
  const base = api.href.replace(/\/$/, '');
  const [, path] = REST.exec(rest) ?? [];
  const url = path === undefined || mayLeave(path) ? undefined : new URL(base + rest);
  if (!url?.href.startsWith(base) || !/^([/?]|$)/.test(url.href.slice(base.length))) {
    throw new Problem(
      'not-found',
      'The path may leave the API: write @ as %40, and no //, .., \\ or character beyond ASCII.',
    );
  }
  return { client, service, url };
}

/** Visible ASCII without a fragment, which no request has. */
const REST = /^((?:\/[!"$->@-~]*)?)(?:\?[!"$-~]*)?$/;

/** Returns whether a server can find a step to the parent in a path. Servers decode it once, twice, or in Unicode. */
function mayLeave(path: string): boolean {
  // Bytes that are no UTF-8 contain a dot for some old servers (`%c0%ae`).
  if (/\/\/|[\\@]/.test(path) || decode(path) === undefined) return true;
  let text = path;
  for (let round = 0; round < MAX_ENCODINGS; round += 1) {
    text = text.normalize('NFKC');
    if (STEP.test(text)) return true;
    const decoded = text.replace(/(?:%[0-9a-f]{2})+/gi, (part) => decode(part) ?? part);
    if (decoded === text) return false;
    text = decoded;
  }
  return true;
}

/** A segment `.` or `..`, also before parameters (`..;x`) and with blanks around it, a backslash, or a control. */
const STEP = /(?:^|\/)\s*\.{1,2}\s*(?:[/;?#]|$)|[\\\p{Cc}]/u;

const MAX_ENCODINGS = 5;

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
