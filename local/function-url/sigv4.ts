import { posix } from 'node:path';
import { authorizationOf, type SigningKey, sha256 } from '../../functions/sigv4.ts';
import { AwsError } from '../aws/aws-error.ts';
import { headerValue, type ReceivedRequest } from '../loopback.ts';

/** The scope, the keys and the clock for the check of a signature. */
export interface Verifier<Key extends SigningKey> {
  readonly service: string;
  /** Defaults to any region. */
  readonly region?: string;
  readonly keys: readonly Key[];
  /** Returns epoch milliseconds. */
  readonly now: () => number;
}

/** Returns the key that signed the request in its `authorization` header. Throws an `AwsError` if not valid. */
export function verifySigV4<Key extends SigningKey>(request: ReceivedRequest, verifier: Verifier<Key>): Key {
  const sent = headerValue(request, 'authorization') ?? '';
  const authorization = parseAuthorization(sent);
  const time = headerValue(request, 'x-amz-date') ?? '';
  const signedAt = new Date(time.replace(BASIC_FORMAT, '$1-$2-$3T$4:$5:$6Z'));
  if (!BASIC_FORMAT.test(time) || Number.isNaN(signedAt.getTime())) {
    throw new AwsError('IncompleteSignatureException', "Date must be in ISO-8601 'basic format'.");
  }
  const key = verifier.keys.find(({ accessKeyId }) => accessKeyId === authorization.accessKeyId);
  if (key === undefined || headerValue(request, 'x-amz-security-token') !== key.sessionToken) {
    throw new AwsError('UnrecognizedClientException', 'The security token included in the request is invalid.');
  }
  checkScope(authorization, verifier);
  checkSignedHeaders(request, authorization.signedHeaders);
  checkAge(time, signedAt, verifier);
  const expected = resign(request, authorization, key, time);
  if (sent.replaceAll(/, */g, ', ') !== expected) throw invalidSignature(MISMATCH);
  return key;
}

const BASIC_FORMAT = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/;

const MISMATCH =
  'The request signature we calculated does not match the signature you provided. Check your AWS Secret Access Key and signing method. Consult the service documentation for details.';

/** The parts of the `authorization` header. */
type Authorization = ReturnType<typeof parseAuthorization>;

function parseAuthorization(text: string) {
  const [, accessKeyId = '', region = '', service = '', signedHeaders = ''] = AUTHORIZATION.exec(text) ?? [];
  if (signedHeaders === '') {
    const message = "Authorization header requires 'Credential', 'SignedHeaders' and 'Signature' parameters.";
    throw new AwsError('IncompleteSignatureException', message);
  }
  return { accessKeyId, region, service, signedHeaders: signedHeaders.split(';') };
}

/** Matches the parts in the order in which every signer writes them. */
const AUTHORIZATION =
  /^AWS4-HMAC-SHA256 Credential=([^/,]+)\/\d{8}\/([^/,]+)\/([^/,]+)\/aws4_request, *SignedHeaders=([^,]+), *Signature=[^,]+$/;

function checkScope<Key extends SigningKey>({ region, service }: Authorization, verifier: Verifier<Key>): void {
  if (region !== (verifier.region ?? region)) {
    throw invalidSignature(`Credential should be scoped to a valid region, not '${region}'. `);
  }
  if (service !== verifier.service) {
    throw invalidSignature(`Credential should be scoped to correct service: '${verifier.service}'. `);
  }
}

/** Rejects an unsigned `x-amz-*` header, because an intermediary could have added it. */
function checkSignedHeaders({ headers }: ReceivedRequest, signedHeaders: readonly string[]): void {
  const names = headers.map(([name]) => name.toLowerCase()).filter((name) => name.startsWith('x-amz-'));
  const unsigned = ['host', ...names].find((name) => !signedHeaders.includes(name));
  if (unsigned) throw invalidSignature(`'${unsigned}' must be a 'SignedHeader' in the AWS Authorization.`);
}

function checkAge<Key extends SigningKey>(time: string, signedAt: Date, { now }: Verifier<Key>): void {
  // Dates in signatures have no fraction of a second.
  const age = Math.floor(now() / 1_000) - signedAt.getTime() / 1_000;
  if (age > WINDOW_SECONDS) throw invalidSignature(`Signature expired: ${time} is too early (5 min.)`);
  if (age < -WINDOW_SECONDS) {
    throw invalidSignature(`Signature not yet current: ${time} is too late (5 min.)`);
  }
}

const WINDOW_SECONDS = 5 * 60;

/** Signs a received request again, with exactly the headers that the sender names. Returns its `authorization`. */
function resign(
  request: ReceivedRequest,
  { region, service, signedHeaders }: Authorization,
  credentials: SigningKey,
  time: string,
): string | undefined {
  const bodyHash = sha256(request.body);
  // A hash from the sender is optional, but must match the received body.
  if ((headerValue(request, 'x-amz-content-sha256') ?? bodyHash) !== bodyHash) return undefined;
  const names = signedHeaders.toSorted();
  const lines = names.flatMap((name) => {
    const value = headerValue(request, name);
    return value === undefined ? [] : [`${name}:${value.replaceAll(/[ \t]+/g, ' ')}`];
  });
  const path = encode(posix.normalize(request.path)).replaceAll('%2F', '/');
  const parts = [request.method, path, canonicalQuery(request.query), ...lines, '', names.join(';'), bodyHash];
  // Each character of the parts is a byte.
  const canonical = Buffer.from(parts.join('\n'), 'latin1');
  return authorizationOf(canonical, names, time, { credentials, scope: [region, service] });
}

/** Decodes and sorts the parameters, so that the sender may encode any character or not. */
function canonicalQuery(query: string): string {
  const parameters = query.split('&').filter((text) => text !== '');
  const pairs = parameters.map((text) => {
    const [name = '', ...value] = text.replaceAll('+', ' ').split('=');
    return `${encode(decode(name))} ${encode(decode(value.join('=')))}`;
  });
  // The blank sorts a name before every longer name.
  return pairs.toSorted().join('&').replaceAll(' ', '=');
}

function decode(text: string): string {
  return text.replaceAll(/%([0-9a-f]{2})/gi, (_, digits) => String.fromCharCode(Number.parseInt(digits, 16)));
}

/** Percent-encodes every byte that RFC 3986 §2.3 reserves. */
function encode(text: string): string {
  const encoded = (byte: string) => `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`;
  return text.replaceAll(/[^\w.~-]/g, encoded);
}

/** The refusal of a well-formed signature that does not prove the sender. */
function invalidSignature(message: string): AwsError {
  return new AwsError('InvalidSignatureException', message);
}
