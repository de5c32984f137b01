/**
 * Returns why a service's URL is not `https://<DNS name>` with an optional port and base path. Loopback allows this
 * machine, and there http. Checks the text, because a parser turns backslashes into slashes, drops white space and
 * reads `0x7f.1` as 127.0.0.1.
 */
export function serviceUrlFault(
  url: string,
  { allowLoopback }: { readonly allowLoopback: boolean },
): string | undefined {
  if (url === '') return `must not be empty: ${EXAMPLE}`;
  if (/[\s\p{Cc}]/u.test(url)) return 'must not contain white space or control characters';
  if (/[^!-~]/.test(url)) return 'must be ASCII: other letters can look like the intended letters';
  if (url.includes('\\')) return 'must not contain a backslash';

  const [, scheme = '', authority = '', path = ''] = PARTS.exec(url) ?? [];
  if (scheme === '') return `must be an https URL: ${EXAMPLE}`;
  const isHere = allowLoopback && /^https?$/.test(scheme) && LOOPBACK.test(authority);
  if (isHere && !URL.canParse(url)) return 'must use a port up to 65535';
  if (!isHere && scheme !== 'https') return `must be an https URL (got ${scheme}:)`;
  return (isHere ? undefined : authorityFault(authority)) ?? (path === '' ? undefined : pathFault(path));
}

const EXAMPLE = 'https://auth.example.com';

const PARTS = /^([A-Za-z][A-Za-z0-9+.-]*):\/\/([^/?#]*)(.*)$/;
const LOOPBACK = /^(?:127\.0\.0\.1|\[::1\]|localhost)(?::[1-9]\d{0,4})?$/;

function authorityFault(authority: string): string | undefined {
  if (authority.includes('@')) return 'must not contain a user name or password';
  if (authority.startsWith('[')) return 'must name a host, not an IP address';

  const [, host = '', port = '443'] = /^(.*?)(?::(.*))?$/.exec(authority) ?? [];
  if (!/^[1-9]\d{0,4}$/.test(port) || Number(port) > 65_535) return 'must use a port up to 65535';
  if (host.endsWith('.')) return 'must not have a dot at the end of the host name';
  // Parsers read a host that ends in a number as an IPv4 address: 127.1, 2130706433, 0177.0.0.1, 0x7f000001.
  if (/(^|\.)(\d+|0x[0-9a-f]*)$/i.test(host)) return 'must name a host, not an IP address';
  if (/[A-Z]/.test(host)) return 'must have its host name in lower case';
  if (/(^|\.)xn--/.test(host)) return 'must not have an xn-- host name: it can look like another name';
  if (/^(localhost|.*\.(localhost|local|internal))$/.test(host)) return 'must not name a local host';
  return HOST.test(host) ? undefined : 'must have a full DNS host name such as auth.example.com';
}

const HOST = /^(?=.{1,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

/** Returns why URL parsers may read a path differently. Rejects escapes, dot segments and empty segments. */
export function pathFault(path: string): string | undefined {
  if (/[?#]/.test(path)) return 'must not contain a query or a fragment: put a query into parameters';
  if (!path.startsWith('/')) return 'must start with a slash';
  if (path.includes('//')) return 'must not contain two slashes in a row';
  if (path.includes('..') || /\/\.(\/|$)/.test(path)) return 'must not contain . or .. as a step';
  return /^[A-Za-z0-9/._~:@!$&'()*+,;=-]*$/.test(path)
    ? undefined
    : "must contain only letters, digits and / . _ ~ : @ ! $ & ' ( ) * + , ; = -";
}
