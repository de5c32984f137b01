import { signPost } from '../../../functions/sigv4.ts';
import { ASSUMED_ROLE_ARN, urlSuffixOf } from '../../../functions/vocabulary.ts';
import { credentialsReason, type Endpoint, safeCause } from '../../index.ts';
import { aborted } from '../failure.ts';
import type { Shell } from '../shell.ts';
import { type DoctorStep, failed, ok, unknown } from './step.ts';

type Credentials = Awaited<ReturnType<Shell['credentials']>>;

/** Finds the AWS credentials that would sign a call. Returns no credentials if they are missing or expired. */
export async function findCredentials(shell: Shell) {
  const step = 'aws-credentials';
  try {
    const credentials = await shell.credentials();
    const { accessKeyId, sessionToken, expiration } = credentials;
    if (expiration !== undefined && expiration.getTime() <= Date.now()) {
      return { step: failed(step, 'aws-credentials-expired', `They expired at ${expiration.toISOString()}`) };
    }
    const kind = sessionToken ? 'temporary keys' : 'long-lived keys';
    const end = expiration ? `, until ${expiration.toISOString()}` : '';
    return { step: ok(step, `${accessKeyId}, ${kind}${end}`), credentials };
  } catch (error) {
    if (shell.signal.aborted) throw aborted();
    const detail = `No source has AWS credentials: ${credentialsReason(error) ?? 'none is set up'}`;
    return { step: failed(step, 'aws-credentials-missing', detail) };
  }
}

/** Asks AWS for the identity of the credentials. */
export async function identify(shell: Shell, credentials: Credentials, { url, region }: Endpoint): Promise<DoctorStep> {
  const step = 'identity';
  const isLocal = url.protocol === 'http:' && !shell.env.AWS_ENDPOINT_URL_STS;
  if (isLocal) return unknown(step, 'A local broker identifies its callers itself');
  const { text, word } = await askSts(shell, region, credentials);
  const arn = /<Arn>([!-~]{1,2048})<\/Arn>/.exec(text)?.[1];
  if (arn !== undefined) {
    const words = `You are ${arn}`;
    return ASSUMED_ROLE_ARN.test(arn) ? ok(step, words) : failed(step, 'caller-not-a-role', words);
  }
  const code = /<Code>(\w{1,64})<\/Code>/.exec(text)?.[1] ?? word;
  if (/^(ExpiredToken|RequestExpired)/.test(code)) {
    return failed(step, 'aws-credentials-expired', `AWS says that they have expired (${code})`);
  }
  if (/^(InvalidClientTokenId|UnrecognizedClient|SignatureDoesNotMatch|InvalidAccessKeyId)/.test(code)) {
    return failed(step, 'aws-credentials-invalid', `AWS does not know them (${code})`);
  }
  return unknown(step, `AWS does not say (sts:GetCallerIdentity, ${code})`);
}

/**
 * Calls STS with a signature made here, because an SDK client would be too large for it. Without an answer, `word` is
 * the reason.
 *
 * @throws CommandFailure `aborted`
 */
async function askSts(shell: Shell, region: string, credentials: Credentials) {
  const standIn = shell.env.AWS_ENDPOINT_URL_STS || shell.env.AWS_ENDPOINT_URL;
  const url = new URL('/', standIn || `https://sts.${region}.${urlSuffixOf(region)}`);
  const body = 'Action=GetCallerIdentity&Version=2011-06-15';
  const named = { 'content-type': 'application/x-www-form-urlencoded' };
  const { host: _writtenByFetch, ...headers } = signPost(url, named, body, { credentials, scope: [region, 'sts'] });
  try {
    const signal = AbortSignal.any([shell.signal, AbortSignal.timeout(10_000)]);
    const response = await fetch(url, { method: 'POST', body, headers, redirect: 'manual', signal });
    return { word: `${response.status}`, text: await response.text() };
  } catch (error) {
    if (shell.signal.aborted) throw aborted();
    return { word: safeCause(error).message, text: '' };
  }
}
