/** Why a service's settings cannot have a header of this name. */
export function headerFault(name: string): string | undefined {
  if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name)) return 'is not a valid header name';
  return RESERVED.has(name.toLowerCase()) ? 'is set by the broker or by HTTP itself' : undefined;
}

/** Why a text cannot be the value of a header. */
export function headerValueFault(value: string): string | undefined {
  return /^[!-~](?:[\t -~]*[!-~])?$/.test(value)
    ? undefined
    : 'must be visible ASCII characters, with white space only between them';
}

/** What would change who is asked, as whom, or where the request and its answer end. */
const RESERVED: ReadonlySet<string> = new Set([
  'accept-encoding',
  'authorization',
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'cookie',
  'expect',
  'host',
  'keep-alive',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);
