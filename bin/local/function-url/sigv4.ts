import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { ALGORITHM, type Authorization, basicFormat, parseAuthorization, parseDate } from './sigv4-authorization.ts';
import { hashCanonicalRequest, headerValue, type ReceivedRequest, sha256 } from './sigv4-canonical.ts';
import { invalidSignature, SigV4Refusal } from './sigv4-refusal.ts';

/** What a caller signs with; `sessionToken` when it has assumed a role. */
export interface SigningKey {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string | undefined;
}

/** Whom the request must have been signed for, by whom, and when it arrived. */
export interface VerifyingService<Key extends SigningKey> {
  readonly service: string;
  readonly region: string;
  readonly keys: readonly Key[];
  /** Epoch milliseconds. */
  readonly now: () => number;
}

/** The key that signed the request in its `authorization` header; throws a `SigV4Refusal` when it was not signed well. */
export function verifySigV4<Key extends SigningKey>(request: ReceivedRequest, verifier: VerifyingService<Key>): Key {
  const authorization = parseAuthorization(headerValue(request, 'authorization') ?? '');
  const signedAt = parseDate(headerValue(request, 'x-amz-date') ?? headerValue(request, 'date'));
  const key = verifier.keys.find(({ accessKeyId }) => accessKeyId === authorization.accessKeyId);
  if (key === undefined || !sameText(headerValue(request, 'x-amz-security-token') ?? '', key.sessionToken ?? '')) {
    throw new SigV4Refusal('UnrecognizedClientException', 'The security token included in the request is invalid.');
  }
  checkScope(authorization, signedAt, verifier);
  checkSignedHeaders(request, authorization.signedHeaders);
  checkAge(signedAt, verifier.now());
  checkSignature(request, authorization, signedAt, key);
  return key;
}

const TERMINATOR = 'aws4_request';

/** AWS names every mistake of the scope at once. */
function checkScope<Key extends SigningKey>(
  { date, region, service, terminator }: Authorization,
  signedAt: Date,
  verifier: VerifyingService<Key>,
): void {
  const time = basicFormat(signedAt);
  const day = time.slice(0, 8);
  const mistakes = [
    region !== verifier.region && `Credential should be scoped to a valid region, not '${region}'. `,
    service !== verifier.service && `Credential should be scoped to correct service: '${verifier.service}'. `,
    terminator !== TERMINATOR &&
      `Credential should be scoped with a valid terminator: '${TERMINATOR}', not '${terminator}'. `,
    date !== day &&
      `Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from HTTP: '${date}' != '${day}', from '${time}'. `,
  ].filter((mistake) => mistake !== false);
  if (mistakes.length > 0) throw invalidSignature(mistakes.join(''));
}

/** An `x-amz-*` header that nobody signed could have been added on the way. */
function checkSignedHeaders({ headers }: ReceivedRequest, signedHeaders: readonly string[]): void {
  if (!signedHeaders.includes('host')) {
    throw invalidSignature("'Host' or ':authority' must be a 'SignedHeader' in the AWS Authorization.");
  }
  const names = headers.map(([name]) => name.toLowerCase()).filter((name) => name.startsWith('x-amz-'));
  const unsigned = names.find((name) => !signedHeaders.includes(name));
  if (unsigned) throw invalidSignature(`'${unsigned}' must be a 'SignedHeader' in the AWS Authorization.`);
}

const WINDOW_MS = 5 * 60_000;

function checkAge(signedAt: Date, now: number): void {
  const signed = basicFormat(signedAt);
  const received = basicFormat(new Date(now));
  const oldest = basicFormat(new Date(now - WINDOW_MS));
  const newest = basicFormat(new Date(now + WINDOW_MS));
  if (signed < oldest) {
    throw invalidSignature(`Signature expired: ${signed} is now earlier than ${oldest} (${received} - 5 min.)`);
  }
  if (signed > newest) {
    throw invalidSignature(`Signature not yet current: ${signed} is still later than ${newest} (${received} + 5 min.)`);
  }
}

/** The body is hashed as it arrived; what `x-amz-content-sha256` claims must agree, but nobody has to send it. */
function checkSignature(
  request: ReceivedRequest,
  { date, region, service, signedHeaders, signature }: Authorization,
  signedAt: Date,
  { secretAccessKey }: SigningKey,
): void {
  const scope = [date, region, service, TERMINATOR];
  const signingKey = scope.reduce<string | Buffer>((key, part) => hmac(key, part), `AWS4${secretAccessKey}`);
  const lines = [ALGORITHM, basicFormat(signedAt), scope.join('/'), hashCanonicalRequest(request, signedHeaders)];
  const expected = hmac(signingKey, lines.join('\n')).toString('hex');
  const claimedBody = headerValue(request, 'x-amz-content-sha256');
  if (!sameText(signature, expected) || (claimedBody !== undefined && claimedBody !== sha256(request.body))) {
    throw invalidSignature(
      'The request signature we calculated does not match the signature you provided. Check your AWS Secret Access Key and signing method. Consult the service documentation for details.',
    );
  }
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}

/** Takes the same time wherever the texts differ; hashed first, because only equal lengths can be compared so. */
function sameText(one: string, other: string): boolean {
  return timingSafeEqual(createHash('sha256').update(one).digest(), createHash('sha256').update(other).digest());
}
