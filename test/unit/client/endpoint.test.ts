import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { parseEndpoint } from '../../../client/sign.ts';

const FUNCTION_URL = 'https://abcdefghijklmnop.lambda-url.eu-west-1.on.aws/';

describe('the address of the broker', () => {
  beforeEach(() => vi.stubEnv('AWS_REGION', 'ap-south-1'));
  afterEach(() => vi.unstubAllEnvs());

  it.each([
    ['the host of a Function URL', FUNCTION_URL, undefined, 'eu-west-1'],
    ['the option before the host', FUNCTION_URL, 'us-west-2', 'us-west-2'],
    ['the local broker, wherever the developer works', 'http://127.0.0.1:8788', undefined, 'us-east-1'],
    ['the local broker by name', 'http://localhost:8788', undefined, 'us-east-1'],
    ['the local broker over IPv6', 'http://[::1]:8788/', undefined, 'us-east-1'],
    ['AWS_REGION when the host does not name a region', 'https://broker.example.com', undefined, 'ap-south-1'],
  ])('takes the region from %s', (_, url, region, expected) => {
    expect(parseEndpoint(url, region).region).toBe(expected);
  });

  it.each([undefined, ''])(
    'asks for a region when neither the host nor AWS_REGION names one (AWS_REGION is %j)',
    (region) => {
      vi.stubEnv('AWS_REGION', region);
      expect(() => parseEndpoint('https://broker.example.com', undefined)).toThrow(
        /give the region, or set AWS_REGION/,
      );
    },
  );

  it('refuses a region that does not look like one', () => {
    expect(() => parseEndpoint(FUNCTION_URL, 'Ireland')).toThrow('the AWS region must look like eu-west-1');
  });

  it.each([
    ['a text that is not a URL', 'broker', /https:/],
    ['an empty text', '', /https:/],
    ['another scheme', 'ftp://broker.example.com', /https:/],
    ['plain HTTP to another machine', 'http://broker.example.com', /only on loopback/],
    ['plain HTTP to a host that looks like loopback', 'http://127.0.0.1.example.com', /only on loopback/],
    ['a password', 'https://me:marked-password@broker.example.com', /user name or password/],
    ['a path', `${FUNCTION_URL}token`, /end after the host/],
    ['a query', `${FUNCTION_URL}?a=b`, /end after the host/],
  ])('refuses %s, and does not quote the URL', (_, url, message) => {
    const parse = () => parseEndpoint(url, 'eu-west-1');
    expect(parse).toThrow(TypeError);
    expect(parse).toThrow(message);
    expect(parse).not.toThrow(/marked-password/);
  });
});
