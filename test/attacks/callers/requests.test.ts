import fc from 'fast-check';
import { expect, it } from 'vitest';
import { PROBLEMS, type ProblemType } from '../../../functions/vocabulary.ts';
import { requestContext, signedBy } from '../../support/aws/function-url-events.ts';
import { createBrokerWorld } from '../../support/broker-world.ts';
import { exampleRule, PAIR } from '../../support/example.ts';

const SEED = 8;
const EVENTS = 6_000;
const MAX_CPU_MS = 50;
const TRIES = 5;

/** All that a caller may be told when the request itself is at fault. */
const REFUSALS: readonly ProblemType[] = [
  ...(['invalid-request', 'access-denied', 'not-found', 'method-not-allowed'] as const),
  ...(['content-too-large', 'unsupported-media-type'] as const),
];

it(`${EVENTS} made-up events get a documented answer each, and only a good one costs a call to a service or AWS`, async () => {
  const world = createBrokerWorld({ accessRules: [exampleRule({ operations: ['token', 'check'] })] });
  const counts: Record<string, number> = {};
  const slow: unknown[] = [];
  const invoke = async (event: unknown) => {
    const startedAt = cpuMs();
    return { answer: await world.invoke(event), ms: cpuMs() - startedAt };
  };
  for (const event of fc.sample(madeUpEvent, { numRuns: EVENTS, seed: SEED })) {
    const before = { ...world.counts };
    const { answer, ms } = await invoke(event);
    if (ms >= MAX_CPU_MS) slow.push(event);
    const { type = 'none', status = 200 } = JSON.parse(answer.body);
    counts[type] = (counts[type] ?? 0) + 1;
    expect(answer.headers['cache-control']).toBe('no-store');
    if (type === 'none') {
      expect([answer.statusCode, isGood(event)]).toEqual([200, true]);
      if (event.rawPath === '/whoami') expect(world.counts).toEqual(before);
      continue;
    }
    expect({ event, type: REFUSALS.includes(type) }).toEqual({ event, type: true });
    expect([answer.statusCode, status]).toEqual([PROBLEMS[type as ProblemType].status, answer.statusCode]);
    expect(answer.headers['content-type']).toBe('application/problem+json');
    expect(world.counts).toEqual(before);
  }
  // Nothing is proven by events that are all turned away for the same reason.
  for (const type of [...REFUSALS, 'none'])
    expect([type, counts[type] ?? 0]).toEqual([type, expect.toSatisfy((count: number) => count >= 50)]);
  // A busy machine can make any one try slow, but not the fastest of several.
  for (const event of slow) {
    let ms = Infinity;
    for (let tries = 0; tries < TRIES; tries += 1) ms = Math.min(ms, (await invoke(event)).ms);
    expect({ event, isCheap: ms < MAX_CPU_MS }).toEqual({ event, isCheap: true });
  }
});

/** Time that this thread had the processor. */
const cpuMs = () => Object.values(process.threadCpuUsage()).reduce((sum, part) => sum + part, 0) / 1_000;

const ARN = 'arn:aws:sts::111111111111:assumed-role/billing/run-1';
const FORM = 'application/x-www-form-urlencoded';

/** Every member of an event, mostly as it should be, else of any type, spelling or size. */
const anything = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.anything({ withNullPrototype: true, withObjectString: true, maxDepth: 2 }),
  fc.constantFrom(null, undefined, '', 0, [], {}, '__proto__', 'x'.repeat(70_000)),
);

const STRANGE_NAMES = ['globex', 'merchant-payment-cleansing', '', 'acme\u0000', 'ACME', '__proto__'];
const member = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom('acme', 'customer-insights') },
  { weight: 2, arbitrary: fc.constantFrom(...STRANGE_NAMES) },
  { weight: 1, arbitrary: anything },
);

const members = fc.oneof(
  { weight: 4, arbitrary: fc.constant(PAIR) },
  {
    weight: 4,
    arbitrary: fc.record(
      {
        client: member,
        service: member,
        min_ttl: fc.oneof(fc.integer(), fc.double(), fc.constantFrom('30', '1e3', '-1', '٣', '0x10', 86_401), anything),
        refused: fc.oneof(fc.constantFrom('0123456789abcdef', '0123456789ABCDEF', 'short'), anything),
        stage: fc.oneof(fc.constantFrom('AWSCURRENT', 'AWSPENDING', 'AWSPREVIOUS', 'awscurrent'), anything),
      },
      { requiredKeys: [] },
    ),
  },
  { weight: 1, arbitrary: anything },
);

const TEXTS = [
  ...['{"client":"acme","client":"globex","service":"customer-insights"}', '\ufeff{}', '{}', '', '{', 'null', '"'],
  ...['['.repeat(5_000), `{"a":${'1'.repeat(16_000)}}`, '%', '&'.repeat(5_000), 'client=%zz', 'client[]=acme'],
  ...['client=acme&service=customer-insights', 'client=acme&client=globex&service=x'],
];
const text = fc.oneof(
  { weight: 6, arbitrary: members.map((value) => JSON.stringify(value) ?? '') },
  { weight: 2, arbitrary: fc.constantFrom(...TEXTS) },
  { weight: 1, arbitrary: fc.nat({ max: 40_000 }).map((length) => `{"client":"${'a'.repeat(length)}"}`) },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 200 }) },
);

const PATHS = [
  ...['/check', '/check', '/whoami', '/whoami', '', '//token'],
  ...['/token/', '/Token', '/token?', '/__proto__', '/%74oken'],
];
const TYPES = [FORM, FORM, 'text/plain', 'APPLICATION/JSON; charset=utf-8', 'application/json; charset=utf-16'];
const headersOf = (type: string) => ({ 'content-type': type });
const METHODS = ['GET', 'post', 'PUT', 'DELETE', 'HEAD', '', 'POST '];

const madeUpEvent = fc
  .record({
    rawPath: mostly('/token', fc.oneof(fc.constantFrom(...PATHS), anything)),
    rawQueryString: mostly('', fc.oneof(fc.constantFrom('client=acme', '=', '%'), anything)),
    headers: mostly(
      headersOf('application/json'),
      fc.oneof(
        fc.constantFrom({}, ...TYPES.map(headersOf)),
        fc.dictionary(fc.string(), fc.string()),
        fc.string({ unit: 'binary' }).map(headersOf),
        anything,
      ),
    ),
    body: text,
    isBase64Encoded: mostly(false, fc.oneof(fc.constant(true), anything)),
    requestContext: mostly(
      requestContext(signedBy(ARN)),
      fc.oneof(
        fc.constantFrom(...METHODS).map((method) => requestContext(signedBy(ARN), method)),
        fc.string({ unit: 'binary' }).map((arn) => requestContext(signedBy(arn))),
        anything.map((authorizer) => requestContext(authorizer)),
        anything,
      ),
    ),
  })
  .chain((event) =>
    fc.tuple(fc.boolean(), fc.nat({ max: 30 })).map(([isEncoded, dropped]) => vary(event, isEncoded, dropped)),
  );

function mostly(usual: unknown, other: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  return fc.oneof({ weight: 9, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: other });
}

/** Some bodies come in base64, and now and then a member is not there at all. */
function vary(event: { body: string }, isEncoded: boolean, dropped: number): Readonly<Record<string, unknown>> {
  const encoded = isEncoded ? { body: Buffer.from(event.body).toString('base64'), isBase64Encoded: true } : {};
  return Object.fromEntries(Object.entries({ ...event, ...encoded }).filter((_, at) => at !== dropped));
}

/** Whether the one configured caller asks, in a well-formed way, for the one pair that it may have, or who it is. */
function isGood(event: unknown): boolean {
  const { rawPath, rawQueryString, headers, requestContext: context, body = '', isBase64Encoded } = Object(event);
  if (rawQueryString !== '' || context.http.method !== 'POST' || context.authorizer.iam.userArn !== ARN) return false;
  const content = isBase64Encoded === true ? Buffer.from(body, 'base64').toString() : body;
  if (rawPath === '/whoami') return ['', '{}', '\ufeff{}'].includes(content);
  const type = String(headers['content-type']).toLowerCase();
  const { client, service } = type.startsWith(FORM)
    ? Object.fromEntries(new URLSearchParams(content))
    : JSON.parse(content);
  return ['/token', '/check'].includes(rawPath) && client === 'acme' && service === 'customer-insights';
}
