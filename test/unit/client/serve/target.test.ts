import { describe, expect, it } from 'vitest';
import { parseApi } from '../../../../client/commands/serve.ts';
import { parseTarget } from '../../../../client/serve/target.ts';
import { beginningOf, startForwarding } from './forward-world.ts';

const SERVICE = 'customer-insights';

describe('the API of a service', () => {
  it.each([
    ['https://insights.example.com', 'https://insights.example.com/'],
    ['https://insights.example.com/v1', 'https://insights.example.com/v1'],
    ['http://127.0.0.1:8080/v1/', 'http://127.0.0.1:8080/v1/'],
    ['http://[::1]:8080', 'http://[::1]:8080/'],
  ])('is %s as the command line names it', (url, href) => {
    expect([...parseApi(`${SERVICE}=${url}`)]).toEqual([[SERVICE, new URL(href)]]);
  });

  it.each([
    ['https://insights.example.com', /^Write SERVICE=URL/],
    ['=https://insights.example.com', /^Write SERVICE=URL/],
    ['a/b=https://insights.example.com', /^Write SERVICE=URL/],
    [`${SERVICE}=http://insights.example.com`, /must be an https URL/],
    [`${SERVICE}=https://user@insights.example.com`, /must not contain a user name/],
    [`${SERVICE}=https://169.254.169.254/`, /not an IP address/],
  ])('is not %s', (text, fault) => {
    expect(() => parseApi(text)).toThrow(fault);
  });
});

/** The words of a text, with each character as it stands. */
const words = ({ raw: [text = ''] }: TemplateStringsArray) => text.trim().split(/\s+/);

const UP = words`.. . .; %2e%2e %2E. .%2e %252e%252e %25252e. ..; ..;x=1 %2e%2e%3b ..%20 %20.. %C0%AE%C0%AE ..%00 ..%0d%0a
  %EF%BC%8E%EF%BC%8E %E2%80%A5 ..%09 %u002e. ..%3f ..%23 %e0%80%ae. %f0%80%80%ae.`;
const SEPARATORS = words`/ %2f %2F %252f \ %5c %255C %EF%BC%8F %c0%af`;

/** Targets below `/api/acme/customer-insights` that some server reads as a path elsewhere, and other odd targets. */
const ODD = [
  ...UP.flatMap((up) => [`/${up}/admin`, `/${up}`, `/reports/${up}/${up}/admin`]),
  ...SEPARATORS.flatMap((slash) => [
    `/reports${slash}..${slash}..${slash}admin`,
    `/x${slash}%2e%2e${slash}%2e%2e${slash}`,
  ]),
  ...words`// //example.org /x//y /@example.org @example.org :80@example.org .example.org /\example.org
    /. /./x /%2e/x /% /%2 /%zz /%E9 /%00 /%0d%0aHost:%20example.org /#x /x#/../y
    /v1/../.. /..%252f..%252fadmin /..%c0%afadmin /%%32%65%%32%65/admin /..%u2215admin /.%00./admin
    ? ?x=/../.. ?u=https://example.org/@ /x?a=b?c=../.. /x?\ /x;.. /... /.well-known /..x/y
    /a%2Fb /caf%C3%A9 /100%25 /%40me /a%20b /it's /a|b /[x] /"<>^{} /%2525 /x%3Fy%23z
    /%2f%2fexample.org /https%3A%2F%2Fexample.org`,
  ...['/`', `/${'x/'.repeat(900)}`, `/${'%25'.repeat(300)}2e./x`],
];

/** Whole targets that name no API. */
const ELSEWHERE = [
  ...words`/api /api/ /api/acme /api/acme/ /api//customer-insights/x /api/acme//x /api/acme/other/x *
    /api/../api/acme/customer-insights/x /%61pi/acme/customer-insights/x //api/acme/customer-insights/x
    /api/acme/customer%2dinsights/x /api/ac%6de/customer-insights/x /api/acme/__proto__/x /api/./customer-insights/
    /api/../customer-insights/x /api/acme/customer-insights@example.org/x /api/acme/customer-insights:80/x
    http://example.org/api/acme/customer-insights/x https://insights.example.com/v1/x example.org:443
    /API/acme/customer-insights/x /api/acme/Customer-Insights/x`,
  ...['/api/acme/customer-insights\t/x', '/api/a b/x/y'],
];

const ALL = [...ODD.map((rest) => `/api/acme/${SERVICE}${rest}`), ...ELSEWHERE];

describe('a target', () => {
  it('of 150 odd ones leads below the API as every server reads it, or nowhere', async () => {
    expect(ALL.length).toBeGreaterThan(150);
    const { port, key, received } = await startForwarding({ base: '/v1' });
    const outcomes = { forwarded: 0, refused: 0 };
    for (const target of ALL) {
      const before = received.length;
      const head = [`GET ${target} HTTP/1.1`, 'Host: localhost', `X-Token-Broker-Key: ${key}`, 'Connection: close'];
      const status = Number((await beginningOf(port, `${head.join('\r\n')}\r\n\r\n`)).slice(9, 12));
      const urls = received.slice(before).flatMap(({ url }) => url ?? []);
      if (urls.length === 0) expect([target, status]).toEqual([target, status === 400 ? 400 : 404]);
      for (const url of urls) expect([target, readings(url).filter((path) => !isWithin(path))]).toEqual([target, []]);
      outcomes[urls.length === 0 ? 'refused' : 'forwarded'] += 1;
    }
    expect(outcomes.refused).toBeGreaterThan(100);
    expect(outcomes.forwarded).toBeGreaterThan(20);
    expect(received.map(({ headers }) => headers.host)).toEqual(received.map(() => received[0]?.headers.host));
  });

  it.each([
    // @see oauth2-proxy/oauth2-proxy#844, a virtual host of RabbitMQ
    ['with an encoded slash', '/v1', '/vhosts/%2F/permissions'],
    ['with a URL as a segment', '/v1', '/sites/https%3A%2F%2Fwww.example.com%2F/analytics'],
    ['with a percent sign', '/v1', '/search/100%25'],
    ['with an encoded @', '/v1', '/users/%40me'],
    ['with a point in front', '/v1', '/.well-known/openid-configuration'],
    ['with a query that has what a path may not', '/v1', '/x?next=https://a.example.com/../b&by=me@example.com'],
    ['with a query alone', '/v1', '?page=2'],
    ['with nothing after the service', '/v1', ''],
    ['with a slash at the end', '/v1', '/reports/'],
    ['below an API that ends with a slash', '/v1/', '/x', '/v1/x'],
    ['below an API without a path', '', '/x'],
    ['with a query, of an API without a path', '', '?x', '/?x'],
    ['with nothing, of an API without a path', '', '', '/'],
  ])('%s is forwarded as it came', (_, base, rest, path = base + rest) => {
    const apis = parseApi(`${SERVICE}=https://insights.example.com${base}`);
    const url = { href: `https://insights.example.com${path}` };
    expect(parseTarget(apis, `/api/acme/${SERVICE}${rest}`)).toMatchObject({ client: 'acme', service: SERVICE, url });
  });

  it.each([
    ['/users/me@example.com', /The path may leave the API: write @ as %40/],
    ['/x//y', /The path may leave the API/],
    ['/caf\u00e9', /The path may leave the API/],
  ])('that is not forwarded because of its path says so: %s', (rest, reason) => {
    const apis = parseApi(`${SERVICE}=https://insights.example.com`);
    expect(() => parseTarget(apis, `/api/acme/${SERVICE}${rest}`)).toThrow(reason);
    expect(() => parseTarget(apis, `/api/acme/other${rest}`)).toThrow(/of a service that --api names/);
  });

  it('with thousands of encodings takes no time', async () => {
    const apis = parseApi(`${SERVICE}=https://insights.example.com`);
    const parts = [`/%${'25'.repeat(7_000)}`, '/%25'.repeat(5_000), '/%20.'.repeat(7_000), `/${'.%20'.repeat(7_000)}x`];
    const begun = performance.now();
    await Promise.allSettled(parts.map(async (rest) => parseTarget(apis, `/api/acme/${SERVICE}${rest}`)));
    expect(performance.now() - begun).toBeLessThan(500);
  });
});

/** What servers make of a target: raw, decoded once and more often, with backslashes as slashes, without parameters. */
function readings(url: string): readonly string[] {
  const [path = ''] = url.split('?');
  const decoded = [path];
  for (let n = 0; n < 4; n += 1) {
    const bytes = Buffer.from(decodeBytes(decoded.at(-1) ?? ''), 'latin1');
    decoded.push(bytes.toString().normalize('NFKC'));
  }
  const spellings = [/\\/g, /\/+/g].map((slash) => (text: string) => text.replaceAll(slash, '/'));
  const all = [...spellings, (text: string) => text, (text: string) => text.replace(/;[^/]*/g, '')];
  return decoded.flatMap((text) => all.map((read) => read(text)));
}

const decodeBytes = (text: string) =>
  Buffer.from(text)
    .toString('latin1')
    .replace(/%([0-9a-f]{2})/gi, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)));

/** Whether a path stays below `/v1` when its dot segments are removed (RFC 3986 §5.2.4). */
function isWithin(path: string): boolean {
  const steps: string[] = [];
  for (const step of path.split('/').slice(1)) {
    if (step.trim() === '..') steps.pop();
    else if (step.trim() !== '.') steps.push(step);
    if (steps[0] !== 'v1') return false;
  }
  return true;
}
