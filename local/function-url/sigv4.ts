import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import { Sha256Node } from '@smithy/core/checksum';
import { SignatureV4 } from '@smithy/signature-v4';
import type { SigningKey } from '../../functions/sigv4.ts';
import { headerValue, type ReceivedRequest } from '../loopback.ts';

/** The scope, the keys and the clock for the check of a signature. */
export interface Verifier<Key extends SigningKey> {
  readonly service: string;
  /** Defaults to any region. */
  readonly region?: string;
  readonly keys: readonly Key[];
  /** Returns epoch milliseconds. When left out, a signature may have any date. */
  readonly now?: (() => number) | undefined;
}

/** A 403 of AWS. `message` is AWS's own text, `errorType` the header `x-amzn-errortype`. */
export class SigV4Refusal extends Error {
  override readonly name = 'SigV4Refusal';
  readonly errorType: string;

  constructor(errorType: string, message: string) {
    super(message);
    this.errorType = errorType;
  }
}

/** Returns the key that signed the request in its `authorization` header. Throws a `SigV4Refusal` if not valid. */
export async function verifySigV4<Key extends SigningKey>(request: ReceivedRequest, verifier: Verifier<Key>) {
  const sent = headerValue(request, 'authorization') ?? '';
  const authorization = parseAuthorization(sent);
  const time = headerValue(request, 'x-amz-date') ?? '';
  const signedAt = new Date(time.replace(BASIC_FORMAT, '$1-$2-$3T$4:$5:$6Z'));
  if (!BASIC_FORMAT.test(time) || Number.isNaN(signedAt.getTime())) {
    throw new SigV4Refusal('IncompleteSignatureException', "Date must be in ISO-8601 'basic format'.");
  }
  const key = verifier.keys.find(({ accessKeyId }) => accessKeyId === authorization.accessKeyId);
  if (key === undefined || headerValue(request, 'x-amz-security-token') !== key.sessionToken) {
    throw new SigV4Refusal('UnrecognizedClientException', 'The security token included in the request is invalid.');
  }
  checkScope(authorization, verifier);
  checkSignedHeaders(request, authorization.signedHeaders);
  checkAge(signedAt, verifier);
  const expected = await resign(request, authorization, key, signedAt);
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
    throw new SigV4Refusal('IncompleteSignatureException', message);
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

function checkAge<Key extends SigningKey>(signedAt: Date, { now }: Verifier<Key>): void {
  // Dates in signatures have no fraction of a second.
  const age = now === undefined ? 0 : Math.floor(now() / 1_000) - signedAt.getTime() / 1_000;
  if (age > WINDOW_SECONDS) throw invalidSignature(`Signature expired: ${basicFormat(signedAt)} is too early (5 min.)`);
  if (age < -WINDOW_SECONDS) {
    throw invalidSignature(`Signature not yet current: ${basicFormat(signedAt)} is too late (5 min.)`);
  }
}

const WINDOW_SECONDS = 5 * 60;

/** Signs a received request again, with exactly the headers that the sender names. Returns its `authorization`. */
async function resign(
  request: ReceivedRequest,
  { region, service, signedHeaders }: Authorization,
  { accessKeyId, secretAccessKey }: SigningKey,
  signingDate: Date,
): Promise<string | undefined> {
  const { method, body } = request;
  const bodyHash = createHash('sha256').update(body).digest('hex');
  // A hash from the sender is optional, but must match the received body.
  if ((headerValue(request, 'x-amz-content-sha256') ?? bodyHash) !== bodyHash) return undefined;
  const credentials = { accessKeyId, secretAccessKey };
  const signer = new SignatureV4({ region, service, credentials, sha256: Sha256Node, applyChecksum: false });
  try {
    const values = signedHeaders.map((name) => [name, headerValue(request, name)] as const);
    const entries = values.flatMap(([name, value]) => (value === undefined ? [] : [[name, utf8(value)] as const]));
    const named = { method, path: utf8(request.path), query: parseQuery(request.query), body, ...NOWHERE };
    const received = { ...named, headers: Object.fromEntries(entries) };
    const signed = await signer.sign(received, { signingDate, signableHeaders: new Set(signedHeaders) });
    return signed.headers.authorization;
  } catch (error) {
    if (error instanceof URIError) return undefined;
    throw error;
  }
}

/** Members that the types require, but no signature covers. */
const NOWHERE = { protocol: 'http:', hostname: '' } as const;

/** Decodes the query, so that the sender may encode any character or not. Throws a `URIError`, as `utf8` does. */
function parseQuery(query: string): Record<string, string[]> {
  const values = new Map<string, string[]>();
  for (const parameter of query.split('&').filter((text) => text !== '')) {
    const [name = '', ...value] = utf8(parameter).replaceAll('+', ' ').split('=');
    const decoded = decodeURIComponent(name);
    // The library does not sign these names, so an intermediary could change the parameter.
    if (/^(x-amz-signature|__proto__)$/i.test(decoded)) throw new URIError('not covered by a signature');
    values.set(decoded, [...(values.get(decoded) ?? []), decodeURIComponent(value.join('='))]);
  }
  return Object.fromEntries(values);
}

/** Decodes UTF-8 from Node's characters, each of which is a byte. Throws a `URIError` for invalid UTF-8. */
function utf8(characters: string): string {
  const bytes = Buffer.from(characters, 'latin1');
  if (!isUtf8(bytes)) throw new URIError('not UTF-8');
  return bytes.toString('utf8');
}

/** `20261121T061600Z` */
function basicFormat(date: Date): string {
  return `${date.toISOString().slice(0, 19).replaceAll(/[-:]/g, '')}Z`;
}

/** The refusal of a well-formed signature that does not prove the sender. */
function invalidSignature(message: string): SigV4Refusal {
  return new SigV4Refusal('InvalidSignatureException', message);
}
