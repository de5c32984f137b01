import { type Endpoint, parseEndpoint } from '../../../client/index.ts';
import { failed, ok, type Step } from './causes.ts';

interface Address {
  readonly url?: string | undefined;
  readonly region?: string | undefined;
}

/** Reads where the broker is. */
export function readAddress({ url = '', region }: Address): { readonly step: Step; readonly endpoint?: Endpoint } {
  if (url === '') return { step: failed('url', 'url-missing', 'No URL is given') };
  const urlFault = faultOf(() => parseEndpoint(url, 'us-east-1'));
  if (urlFault !== undefined) return { step: failed('url', 'url-malformed', urlFault) };
  const regionFault = faultOf(() => parseEndpoint(url, region));
  if (regionFault !== undefined) return { step: failed('url', 'region-missing', regionFault) };
  const endpoint = parseEndpoint(url, region);
  return { step: ok('url', `${endpoint.url.host}, signed for ${endpoint.region}`), endpoint };
}

function faultOf(parse: () => unknown): string | undefined {
  try {
    parse();
    return undefined;
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    return error.message;
  }
}
