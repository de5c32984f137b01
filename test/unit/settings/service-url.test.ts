import { expect, it } from 'vitest';
import { pathFault, serviceUrlFault } from '../../../functions/service-url.ts';

const HTTPS = 'must be an https URL: https://auth.example.com';
const ADDRESS = 'must name a host, not an IP address';
const FULL_NAME = 'must have a full DNS host name such as auth.example.com';
const LOOK_ALIKE = 'must not have an xn-- host name: it can look like another name';
const NO_QUERY = 'must not contain a query or a fragment: put a query into parameters';
const HERE = 'must not name a local host';
const STEP = 'must not contain . or .. as a step';
const CHARACTERS = "must contain only letters, digits and / . _ ~ : @ ! $ & ' ( ) * + , ; = -";

it.each([
  'https://auth.example.com',
  'https://auth.example.com/',
  'https://auth.example.com:443',
  'https://auth.example.com:8443/base',
  'https://auth.example.com:65535',
  'https://auth.example.com/tenant-1/v2',
  'https://localhost.example.com',
  'https://1.example.com',
  'https://auth.notlocalhost',
])('an authUrl may be %s', (url) => {
  expect(serviceUrlFault(url, { allowLoopback: false })).toBeUndefined();
  expect(serviceUrlFault(url, { allowLoopback: true })).toBeUndefined();
});

/** URLs that are refused in every environment, and on a developer's machine too. */
it.each<[string, string]>([
  ['', 'must not be empty: https://auth.example.com'],
  ['auth.example.com', HTTPS],
  ['http://auth.example.com', 'must be an https URL (got http:)'],
  ['ftp://localhost', 'must be an https URL (got ftp:)'],
  ['http://127.0.0.1@auth.example.com', 'must be an https URL (got http:)'],
  ['https://auth.exa\tmple.com', 'must not contain white space or control characters'],
  ['https://\u0430uth.example.com', 'must be ASCII: other letters can look like the intended letters'],
  ['https://auth.example.com\\@evil.example.com', 'must not contain a backslash'],
  ['https://auth.example.com@evil.example.com', 'must not contain a user name or password'],
  ...['', '0', '080', '65536', '8443a'].map((port): [string, string] => [
    `https://auth.example.com:${port}`,
    'must use a port up to 65535',
  ]),
  ['https://auth.example.com?a=b', NO_QUERY],
  ['https://2130706433', ADDRESS],
  ['https://0x7F.0.0.0X1', ADDRESS],
  ['https://0x7f000001', ADDRESS],
  ['https://[::ffff:127.0.0.1]', ADDRESS],
  ['https://printer.local', HERE],
  ['https://metadata.google.internal', HERE],
  ['https://127.0.0.1.', 'must not have a dot at the end of the host name'],
  ['https://Auth.example.com', 'must have its host name in lower case'],
  ['https://xn--pple-43d.example', LOOK_ALIKE],
  ['https://auth.xn--exmple-cua.com', LOOK_ALIKE],
  ['https://intranet', FULL_NAME],
  ['https://-auth.example.com', FULL_NAME],
  [`https://${'a'.repeat(64)}.example.com`, FULL_NAME],
])('an authUrl may not be %j', (url, fault) => {
  expect(serviceUrlFault(url, { allowLoopback: false })).toBe(fault);
  expect(serviceUrlFault(url, { allowLoopback: true })).toBe(fault);
});

it.each(['http://127.0.0.1:8080', 'http://localhost:3000/base', 'http://[::1]:9', 'https://localhost:8443'])(
  'an authUrl on a developer’s machine alone may be %s',
  (url) => {
    expect(serviceUrlFault(url, { allowLoopback: true })).toBeUndefined();
    expect(serviceUrlFault(url, { allowLoopback: false })).toMatch(/^must (be an https URL|not name a local host)/);
  },
);

it.each([
  ['http://localhost:8080/base?a=b', NO_QUERY],
  ['xhttp://localhost', 'must be an https URL (got xhttp:)'],
  ['httpx://localhost', 'must be an https URL (got httpx:)'],
  ['http://localhost:99999', 'must use a port up to 65535'],
])('an authUrl on a developer’s machine may not be %j either', (url, fault) => {
  expect(serviceUrlFault(url, { allowLoopback: true })).toBe(fault);
});

it.each([
  ['//evil.example.com/token', 'must not contain two slashes in a row'],
  ['/oauth/../token', STEP],
  ['/oauth/./token', STEP],
  ['/oauth/.', STEP],
  ['/%2e%2e/token', CHARACTERS],
  ['/token\n', CHARACTERS],
])('a path, of a base or of the token, may not be %j', (path, fault) => {
  expect(pathFault(path)).toBe(fault);
});
