import { describe, expect, it } from 'vitest';
import { authUrlFault } from '../../../lib/settings/auth-url.ts';

const ADDRESS = 'must name a host, not an IP address';
const FULL_NAME = 'must have a full DNS host name such as auth.example.com';
const PATH_ONLY = 'must not hold a query or a fragment: put a query into parameters';
const HERE = 'must not name a local host';

describe('an authUrl in the cloud', () => {
  it.each([
    'https://auth.example.com',
    'https://auth.example.com/',
    'https://auth.example.com:443',
    'https://auth.example.com/tenant-1/v2',
    'https://a-1.2b.example.co.uk',
    'https://localhost.example.com',
  ])('may be %s', (url) => {
    expect(authUrlFault(url, { allowLoopback: false })).toBeUndefined();
  });

  it.each([
    ['', 'must not be empty: https://auth.example.com'],
    ['auth.example.com', 'must be an https URL: https://auth.example.com'],
    ['//auth.example.com', 'must be an https URL: https://auth.example.com'],
    ['https:auth.example.com', 'must be an https URL: https://auth.example.com'],
    ['https:/auth.example.com', 'must be an https URL: https://auth.example.com'],
    ['http://auth.example.com', 'must be an https URL (got http:)'],
    ['HTTPS://auth.example.com', 'must be an https URL (got HTTPS:)'],
    ['ftp://auth.example.com', 'must be an https URL (got ftp:)'],
    ['http://localhost:8080', 'must be an https URL (got http:)'],
    [' https://auth.example.com', 'must not hold white space or control characters'],
    ['https://auth.example.com\n', 'must not hold white space or control characters'],
    ['https://auth.exa\tmple.com', 'must not hold white space or control characters'],
    ['https://auth.example.com\u0000', 'must not hold white space or control characters'],
    ['https://\u0430uth.example.com', 'must be ASCII: other letters can look like the ones that are meant'],
    ['https://auth\u3002example.com', 'must be ASCII: other letters can look like the ones that are meant'],
    ['https:\\\\auth.example.com', 'must not hold a backslash'],
    ['https://auth.example.com\\@evil.example.com', 'must not hold a backslash'],
    ['https://user:pass@auth.example.com', 'must not hold a user name or password'],
    ['https://auth.example.com@evil.example.com', 'must not hold a user name or password'],
    ['https://@auth.example.com', 'must not hold a user name or password'],
    ['https://auth.example.com:8443', 'must use port 443'],
    ['https://auth.example.com:', 'must use port 443'],
    ['https://auth.example.com:443:443', 'must use port 443'],
    ['https://auth.example.com?a=b', PATH_ONLY],
    ['https://auth.example.com/?', PATH_ONLY],
    ['https://auth.example.com/#a', PATH_ONLY],
    ['https://auth.example.com#', PATH_ONLY],
    ['https://auth.example.com//base', 'must not hold two slashes in a row'],
    ['https://auth.example.com/base/../admin', 'must not hold . or .. as a step'],
    ['https://auth.example.com/%2e%2e/admin', "must hold only letters, digits and / . _ ~ : @ ! $ & ' ( ) * + , ; = -"],
    ['https://127.0.0.1', ADDRESS],
    ['https://127.1', ADDRESS],
    ['https://2130706433', ADDRESS],
    ['https://0177.0.0.1', ADDRESS],
    ['https://0x7f.0.0.1', ADDRESS],
    ['https://0x7f000001', ADDRESS],
    ['https://0x7F.0.0.0X1', ADDRESS],
    ['https://169.254.169.254', ADDRESS],
    ['https://example.0x', ADDRESS],
    ['https://[::1]', ADDRESS],
    ['https://[::ffff:127.0.0.1]', ADDRESS],
    ['https://[fe80::1%25eth0]', ADDRESS],
    ['https://localhost', HERE],
    ['https://auth.localhost', HERE],
    ['https://printer.local', HERE],
    ['https://metadata.google.internal', HERE],
    ['https://auth.example.com.', 'must not have a dot at the end of the host name'],
    ['https://127.0.0.1.', 'must not have a dot at the end of the host name'],
    ['https://Auth.example.com', 'must have its host name in lower case'],
    ['https://xn--pple-43d.example', 'must not have an xn-- host name: it can look like another one'],
    ['https://auth.xn--exmple-cua.com', 'must not have an xn-- host name: it can look like another one'],
    ['https://', FULL_NAME],
    ['https:///auth.example.com', FULL_NAME],
    ['https://intranet', FULL_NAME],
    ['https://auth..example.com', FULL_NAME],
    ['https://.example.com', FULL_NAME],
    ['https://-auth.example.com', FULL_NAME],
    ['https://auth_1.example.com', FULL_NAME],
    ['https://%61uth.example.com', FULL_NAME],
    ['https://*.example.com', FULL_NAME],
    [`https://${'a'.repeat(64)}.example.com`, FULL_NAME],
    [`https://${'a.'.repeat(130)}example.com`, FULL_NAME],
  ])('may not be %j', (url, fault) => {
    expect(authUrlFault(url, { allowLoopback: false })).toBe(fault);
  });
});

describe('an authUrl on a developer’s machine', () => {
  it.each([
    'http://127.0.0.1:8080',
    'http://localhost:3000/base',
    'http://[::1]:9',
    'https://localhost:8443',
    'http://localhost',
    'https://auth.example.com',
  ])('may be %s', (url) => {
    expect(authUrlFault(url, { allowLoopback: true })).toBeUndefined();
  });

  it.each([
    ['http://auth.example.com', 'must be an https URL (got http:)'],
    ['http://127.0.0.1.example.com', 'must be an https URL (got http:)'],
    ['http://127.0.0.1@auth.example.com', 'must be an https URL (got http:)'],
    ['http://localhost.example.com', 'must be an https URL (got http:)'],
    ['http://169.254.169.254', 'must be an https URL (got http:)'],
    ['http://0x7f.1', 'must be an https URL (got http:)'],
    ['ftp://localhost', 'must be an https URL (got ftp:)'],
    ['httpx://localhost', 'must be an https URL (got httpx:)'],
    ['https://auth.example.com:8443', 'must use port 443'],
    ['http://localhost:8080/base?a=b', PATH_ONLY],
    ['http://localhost:99999', 'must use a port up to 65535'],
  ])('may not be %j', (url, fault) => {
    expect(authUrlFault(url, { allowLoopback: true })).toBe(fault);
  });
});
