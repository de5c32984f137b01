/** Where the broker is and for which region requests to it are signed. */
export interface Endpoint {
  readonly url: URL;
  readonly region: string;
}

/** Reads the broker's address; throws a `TypeError` that says what to give instead. */
export function parseEndpoint(text: string, region: string | undefined): Endpoint {
  const url = parseUrl(text);
  return { url, region: parseRegion(region ?? regionOf(url)) };
}

function parseUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !(url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url)))) {
    throw new TypeError('the URL of the broker must start with https:// (http:// only on loopback)');
  }
  if (url.username !== '' || url.password !== '') {
    throw new TypeError('the URL of the broker must not contain a user name or password');
  }
  if (url.pathname !== '/' || url.search !== '' || url.hash !== '') {
    throw new TypeError('the URL of the broker must end after the host: no path, query or fragment');
  }
  return url;
}

function parseRegion(region: string | undefined): string {
  if (region === undefined || region === '') {
    throw new TypeError('the URL does not tell the AWS region of the broker: give the region, or set AWS_REGION');
  }
  if (!/^[a-z0-9]+(-[a-z0-9]+)+$/.test(region)) {
    throw new TypeError('the AWS region must look like eu-west-1');
  }
  return region;
}

/** The host of a Function URL names its region; AWS_REGION says where the caller runs, which may be elsewhere. */
function regionOf(url: URL): string | undefined {
  if (isLoopback(url)) return LOCAL_REGION;
  return /^[^.]+\.lambda-url\.([^.]+)\.on\./.exec(url.hostname)?.[1] ?? process.env.AWS_REGION;
}

/** What the broker on a developer's machine verifies against, whatever region the developer has set. */
const LOCAL_REGION = 'us-east-1';

/** Whether the URL leads to this machine. */
export function isLoopback({ hostname }: URL): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d+){3}$/.test(hostname);
}
