import { PassThrough } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { awsFailure } from '../../../cli/shared/ask-aws.ts';
import { mapConcurrently, noteProgress } from '../../../cli/shared/checks.ts';
import { tableText } from '../../../cli/shared/table.ts';
import { adviceFor } from '../../../client/commands/failure.ts';
import type { Shell } from '../../../client/commands/shell.ts';
import { TokenBrokerError } from '../../../client/index.ts';
import { CAUSE_ADVICE, FINDING_ADVICE, findingAdvice, PROBLEM_ADVICE } from '../../../functions/vocabulary.ts';
import { runCommandLine } from './shared/command-line.ts';

describe('the advice on a problem', () => {
  const about = { environment: 'prod', client: 'acme' };
  const advise = (type: string) => adviceFor(new TokenBrokerError(type, 'detail', { retryable: false }), about);

  it('is for each a sentence of its own that a terminal can show, with every name in its place', () => {
    for (const advice of [PROBLEM_ADVICE, FINDING_ADVICE]) {
      expect(new Set(Object.values(advice)).size).toBe(Object.keys(advice).length);
    }
    for (const type of Object.keys(PROBLEM_ADVICE)) expect(advise(type), type).toMatch(/^[A-Z][^`<>]*\.$/);
    expect(advise('credential-rejected')).toContain('token-broker/prod/acme');
  });

  it.each(['something-new', 'toString'])('has an answer for "%s", which it does not know', (type) => {
    expect(advise(type)).toMatch(/does not know/);
  });
});

it('a finding has an advice for each cause, and only versions that were refused are a reason for client retry', () => {
  const advices = Object.keys(CAUSE_ADVICE).map((cause) => [cause, findingAdvice('throttled', { cause })] as const);
  expect(new Set(advices.map(([, advice]) => advice)).size).toBe(6);
  expect(advices.filter(([, advice]) => advice.includes('client retry')).map(([cause]) => cause)).toEqual([
    ...['rejected-versions', 'not-accepted'],
  ]);
  const rollsBack = (mayRollBack: boolean) => findingAdvice('secret-missing', { mayRollBack }).includes('rollback');
  expect([true, false].map(rollsBack)).toEqual([true, false]);
  for (const cause of [undefined, 'new-cause', 'toString']) {
    expect(findingAdvice('throttled', { cause })).toBe(FINDING_ADVICE.throttled);
  }
});

describe('a failure of AWS', () => {
  const ASKED = ['secretsmanager:ListSecrets', 'eu-west-1'] as const;

  it.each<[name: string, type: string, status?: number]>([
    ['NoStandIn', 'aws-stand-in'],
    ['AccessDeniedException', 'aws-access-denied'],
    ['ExpiredTokenException', 'aws-credentials-expired'],
    ['InvalidSignatureException', 'aws-credentials-invalid'],
    ['CredentialsProviderError', 'aws-credentials-missing'],
    ['RequestLimitExceeded', 'aws-throttled'],
    ['LimitExceededException', 'aws-quota'],
    ['ResourceNotFoundException', 'aws-not-found'],
    ['KMSAccessDeniedException', 'aws-key-unusable'],
    // @see appleboy/lambda-action#46
    ['ResourceConflictException', 'aws-busy'],
    ['IncompleteSignature', 'aws-credentials-invalid'],
    // @see serverless/serverless#5168, a key that ends in a line break
    ['ERR_INVALID_CHAR', 'aws-credentials-invalid'],
    // @see namespacelabs/foundation#801
    ['InvalidIdentityTokenException', 'aws-credentials-missing'],
    // @see aws-amplify/amplify-cli#4446 and webiny/webiny-js#1517
    ['OptInRequired', 'aws-not-signed-up'],
    ['SubscriptionRequiredException', 'aws-not-signed-up'],
    ['RegionDisabledException', 'aws-not-signed-up'],
    ['TooManyRequestsException', 'aws-throttled'],
    // @see hashicorp/terraform-provider-aws#29496, a policy that names a role that was deleted
    ['MalformedPolicyDocumentException', 'aws-refused'],
    // @see aws/aws-sdk-js#2970, an interception that AWS_CA_BUNDLE makes good for the AWS CLI only
    ['SELF_SIGNED_CERT_IN_CHAIN', 'aws-tls-failed'],
    // @see aws/aws-sdk-js-v3#5851 and #7182, an answer in HTML or plain text
    ['SyntaxError', 'aws-unavailable', 403],
    ['Unknown', 'aws-unavailable', 407],
    ['SomethingNewException', 'aws-refused', 403],
    ['RequestTimeTooSkewed', 'aws-clock-wrong'],
    ['TimeoutError', 'aws-unavailable'],
    ['AbortError', 'aborted'],
  ])('%s is "%s"', (name, type, httpStatusCode) => {
    const failure = awsFailure(
      Object.assign(new Error('marked: what AWS wrote'), { name, $metadata: { httpStatusCode } }),
      ...ASKED,
    );
    expect(failure.type).toBe(type);
    expect(failure.advice).not.toBe('');
    expect(JSON.stringify([failure.message, failure.detail, failure.advice])).not.toContain('marked');
  });

  // @see EngineerBetter/control-tower#51, aws/aws-cdk#22759
  it.each(['Signature expired: 20221103T080139Z is', 'Signature not yet current: 20170731T092200Z is'])(
    '"%s …" is a wrong clock',
    (message) => {
      const error = Object.assign(new Error(message), { name: 'SignatureDoesNotMatch' });
      expect(awsFailure(error, ...ASKED)).toMatchObject({
        type: 'aws-clock-wrong',
        advice: expect.stringMatching(/^Set it/),
      });
    },
  );

  it.each([
    ['because no service control policy allows the x:Y action', 'service control policy', /organization/],
    ['with an explicit deny in a resource control policy: arn:x', 'resource control policy', /organization/],
    ['because no VPC endpoint policy allows the x:Y action', 'VPC endpoint policy', /policy of the VPC endpoint/],
    ['with an explicit deny in a VPC endpoint policy transitively through a service control policy', 'service', /org/],
    ['with an explicit deny in a permissions boundary', 'permissions boundary', /wider permissions boundary/],
    ['because no session policy allows the x:Y action', 'session policy', /without this session policy/],
    ['with an explicit deny in a sessions policy', 'sessions policy', /without this session policy/],
    ['with an explicit deny in a resource-based policy', 'deny in a resource-based policy', /client disable/],
    ['with an explicit deny in an identity-based policy', 'deny in an identity-based policy', /your own role/],
    ['because no identity-based policy allows the x:Y action', undefined, /policy --operator/],
    ['because no resource-based policy allows the x:Y action', undefined, /policy --operator/],
    ['with an explicit deny in something new', undefined, /policy --operator/],
    ['Access to KMS is not allowed', undefined, /kms:Decrypt and kms:GenerateDataKey on that key/],
    // @see aws/aws-encryption-sdk-javascript#1005
    ['The ciphertext refers to a customer master key that does not exist', undefined, /GenerateDataKey on that key/],
    // @see aws/aws-cdk#10010, the words of DynamoDB
    ['KMS key access denied error: The ciphertext', undefined, /kms:GenerateDataKey on that key/],
  ])('%s names the kind of policy, and repeats nothing else', (words, kind, advice) => {
    const error = Object.assign(new Error(`User: marked ${words}`), { name: 'AccessDeniedException' });
    if (/^(?:Access|KMS|The) /.test(words)) error.message = words;
    const failure = awsFailure(error, ...ASKED);
    expect(failure).toMatchObject({ type: 'aws-access-denied', advice: expect.stringMatching(advice) });
    expect(failure.detail.includes('policy') || failure.detail.includes('boundary')).toBe(kind !== undefined);
    expect(failure.detail).toContain(kind ?? '');
    expect(failure.detail).not.toContain('marked');
  });

  // @see aws/aws-cli#7216
  it.each([
    ['secretsmanager:ListSecrets', 'aws-credentials-denied', /trust policy/],
    ['sts:AssumeRole', 'aws-access-denied', /policy --operator/],
  ])('to assume the role of a profile is none of %s', (action, type, advice) => {
    const message = 'User: marked is not authorized to perform: sts:AssumeRole on resource: marked';
    const failure = awsFailure(Object.assign(new Error(message), { name: 'AccessDenied' }), action, 'eu-west-1');
    expect(failure).toMatchObject({ type, advice: expect.stringMatching(advice) });
    expect(failure.message).not.toContain('marked');
  });

  it.each([
    [400, 'aws-refused'],
    [500, 'aws-unavailable'],
  ])('of a name that is not known, with the status %i, is "%s"', (httpStatusCode, type) => {
    const error = Object.assign(new Error(), { name: 'PublicPolicyException', $metadata: { httpStatusCode } });
    expect(awsFailure(error, ...ASKED).type).toBe(type);
  });

  it('names the service, the operation and the region that were asked, or that there is no region', () => {
    const { detail } = awsFailure(Object.assign(new Error(), { code: 'ECONNREFUSED' }), ...ASKED);
    expect(detail).toBe('AWS returned no usable answer: secretsmanager:ListSecrets in eu-west-1 (ECONNREFUSED)');
    expect(awsFailure(new Error('Region is missing'), ASKED[0], undefined).type).toBe('aws-region-missing');
  });
});

it('a table has columns as wide as they must be, headings across them, and no cell that steers the terminal', () => {
  const rows = [['one', 'b'], ['a heading across'], ['c\u001b[2J\n', '']];
  expect(tableText(['A', 'LONG'], rows)).toBe('A       LONG\none     b\na heading across\nc�[2J�\n');
});

// @see wp-cli/wp-cli#5922
it('a table for 60 columns wraps the longest text, and breaks no indented name', () => {
  const out = { stdout: { columns: 60 } } as Pick<Shell, 'stdout'>;
  const text = tableText(
    ['NAME', 'STATE'],
    [
      ['  payment-cleansing', 'ok'],
      ['  x', 'a long state '.repeat(6)],
    ],
    out,
  );
  expect(text).toContain('\n  payment-cleansing  ok\n');
  expect(text.split('\n').filter((line) => line.startsWith('  x'))).toHaveLength(1);
  const narrow = tableText(['NAME'], [['  payment-cleansing-service']], { stdout: { columns: 24 } } as typeof out);
  const twoColumns = [['  payment-cleansing', 'disabled']];
  expect(tableText(['NAME', 'STATE'], twoColumns, { stdout: { columns: 18 } } as typeof out)).toBe(
    'NAME        STATE\n  payment-  disabled\n  cleansing\n',
  );
  expect(narrow).toBe('NAME\n  payment-cleansing-\n  service\n');
});

it('the command line offers every command and option that an advice names', async () => {
  const texts = [...Object.values(FINDING_ADVICE), ...Object.values(PROBLEM_ADVICE)];
  const commands = new Set(texts.flatMap((text) => text.match(/(?<=`)(?:client|doctor|whoami)\b[^`]*/g) ?? []));
  expect(commands.size).toBeGreaterThanOrEqual(5);
  for (const command of commands) {
    const words = command.split(' ');
    const verbs = words.slice(0, words[0] === 'client' ? 2 : 1);
    const { exitCode, stdout } = await runCommandLine([...verbs, '--help']);
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(new RegExp(`^Usage: token-broker ${verbs.join(' ')} `));
    for (const word of words.filter((arg) => arg.startsWith('--'))) expect(stdout).toContain(`  ${word} `);
  }
});

it('works on five items at a time, and begins no more of a long work after a failure', async () => {
  const begun: number[] = [];
  const work = async (item: number) => {
    begun.push(item);
    await setImmediate();
    if (item === 0) expect(begun).toHaveLength(5);
    if (item === 2) throw new Error('the third');
  };
  await expect(mapConcurrently([...Array(1_000).keys()], work)).rejects.toThrow('the third');
  await setImmediate();
  expect(begun.length).toBeLessThan(50);
});

it('works on the items behind a slow one meanwhile, and returns all in their order', async () => {
  const others = Promise.withResolvers<void>();
  const items = [...Array(50).keys()];
  const work = async (item: number) => (item === 0 ? others.promise.then(() => item) : item);
  const mapped = mapConcurrently(items, work, (done) => done === 49 && others.resolve());
  expect(await mapped).toEqual(items);
});

it('reports the progress of long work every three seconds, and none of short work', () => {
  const stderr = new PassThrough({ encoding: 'utf8' });
  let now = 0;
  const tell = noteProgress({ stderr }, 'Checking', () => now);
  for (now = 500; now <= 6_500; now += 500) tell(now / 500, 20);
  expect(stderr.read()).toBe('Checking: 6 of 20\nChecking: 12 of 20\n');
});
