import type { defaultProvider } from '@aws-sdk/credential-provider-node';
import { SignatureV4 } from '@smithy/signature-v4';
import { type Members, membersOf, parseJson } from '../../../functions/broker/json.ts';
import { Sha256 } from '../../../functions/sha256.ts';
import { ASSUMED_ROLE_ARN } from '../../../functions/vocabulary.ts';
import { type Endpoint, safeCause } from '../../index.ts';
import { aborted, emptyProfile } from '../failure.ts';
import type { Shell } from '../shell.ts';
import { type DoctorStep, failed, ok, unknown } from './step.ts';

type Credentials = Awaited<ReturnType<ReturnType<typeof defaultProvider>>>;

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
  } catch {
    if (shell.signal.aborted) throw aborted();
    // The chain's own message may quote a profile.
    const detail = emptyProfile(shell) || 'No source has AWS credentials';
    return { step: failed(step, 'aws-credentials-missing', detail) };
  }
}

/** Asks AWS for the identity of the credentials. */
export async function identify(shell: Shell, credentials: Credentials, { url, region }: Endpoint) {
  const step = 'identity';
  const isLocal = url.protocol === 'http:' && !shell.env.AWS_ENDPOINT_URL_STS;
  if (isLocal) return { step: unknown(step, 'A local broker identifies its callers itself') };
  const body = 'Action=GetCallerIdentity&Version=2011-06-15';
  const { text, word } = await askAws(shell, { service: 'sts', region, credentials, body });
  const arn = /<Arn>([!-~]{1,2048})<\/Arn>/.exec(text)?.[1];
  if (arn !== undefined) {
    const account = ASSUMED_ROLE_ARN.exec(arn)?.[2];
    const words = `You are ${arn}`;
    return account === undefined
      ? { step: failed(step, 'caller-not-a-role', words) }
      : { step: ok(step, words), account };
  }
  const code = /<Code>(\w{1,64})<\/Code>/.exec(text)?.[1] ?? word;
  if (/^(ExpiredToken|RequestExpired)/.test(code)) {
    return { step: failed(step, 'aws-credentials-expired', `AWS says that they have expired (${code})`) };
  }
  if (/^(InvalidClientTokenId|UnrecognizedClient|SignatureDoesNotMatch|InvalidAccessKeyId)/.test(code)) {
    return { step: failed(step, 'aws-credentials-invalid', `AWS does not know them (${code})`) };
  }
  return { step: unknown(step, `AWS does not say (sts:GetCallerIdentity, ${code})`) };
}

interface Question extends Pick<AwsRequest, 'region' | 'credentials'> {
  /** The function's ARN, or `<name>:<alias>`. */
  readonly functionName: string | undefined;
  readonly account: string | undefined;
}

/** Finds the missing permission in the function's own policy, because AWS says only `Forbidden`. */
export async function examinePermissions(shell: Shell, question: Question): Promise<DoctorStep> {
  const step = 'permissions';
  const { functionName, account } = question;
  if (account === undefined) return unknown(step, 'The account of the caller is unknown');
  if (functionName === undefined) return unknown(step, 'The function is unknown (--function-arn)');
  const policy = await readPolicy(shell, functionName, question);
  if (policy === undefined) return unknown(step, `The policy of ${functionName} cannot be read (lambda:GetPolicy)`);

  const statements = policy.filter((statement) => allows(statement, account));
  const has = (action: string) => statements.some(({ Action }) => [Action].flat().includes(action));
  const [mayCall, mayInvoke] = [has('lambda:InvokeFunctionUrl'), has('lambda:InvokeFunction')];
  const found = `The function's policy grants account ${account}`;
  if (!mayCall && !mayInvoke) return failed(step, 'permission-account', `${found} nothing`);
  if (!mayCall) return failed(step, 'permission-invoke-function-url', `${found} lambda:InvokeFunction only`);
  if (!mayInvoke) return failed(step, 'permission-invoke-function', `${found} lambda:InvokeFunctionUrl only`);
  return failed(step, 'permission-identity', `${found} both permissions`);
}

/** Returns the statements of the alias's policy, if any. Returns `undefined` when it cannot be read. */
async function readPolicy(shell: Shell, functionName: string, { region, credentials }: Question) {
  const [, name = '', alias = ''] = /^(.*):([^:]*)$/.exec(functionName) ?? [];
  const path = `/2015-03-31/functions/${encodeURIComponent(name)}/policy`;
  const asked = { service: 'lambda', region, credentials, path, query: { Qualifier: alias } } as const;
  const { status, text } = await askAws(shell, asked);
  // A function that is not in this account and region is a 404, too, with another text.
  if (status === 404 && text.includes('The resource you requested does not exist')) return [];
  const { Statement } = membersOf(parseJson(`${membersOf(parseJson(text)).Policy}`));
  return Array.isArray(Statement) ? Statement.map(membersOf) : undefined;
}

interface AwsRequest {
  /** The name of the service in its host name. */
  readonly service: string;
  readonly region: string;
  readonly credentials: Credentials;
  readonly path?: string;
  readonly query?: Readonly<Record<string, string>>;
  /** A form. */
  readonly body?: string | undefined;
}

/**
 * Calls AWS with a signature made here, because an SDK client would be too large for it. Without an answer, the status
 * is 0 and `word` is the reason.
 *
 * @throws CommandFailure `aborted`
 */
async function askAws(shell: Shell, { service, region, credentials, path = '/', query = {}, body }: AwsRequest) {
  const suffix = region.startsWith('cn-') ? 'amazonaws.com.cn' : 'amazonaws.com';
  const standIn = shell.env[`AWS_ENDPOINT_URL_${service.toUpperCase()}`] || shell.env.AWS_ENDPOINT_URL;
  const url = new URL(path, standIn || `https://${service}.${region}.${suffix}`);
  url.search = `${new URLSearchParams(query)}`;
  const { protocol, hostname, host } = url;
  const sent = body === undefined ? { method: 'GET' } : { method: 'POST', body };
  const headers = { host, ...(body && { 'content-type': 'application/x-www-form-urlencoded' }) };
  try {
    const signer = new SignatureV4({ service, region, credentials, sha256: Sha256 });
    const signed = await signer.sign({ ...sent, protocol, hostname, path, query: { ...query }, headers });
    const { host: _writtenByFetch, ...fields } = signed.headers;
    const signal = AbortSignal.any([shell.signal, AbortSignal.timeout(10_000)]);
    const response = await fetch(url, { ...sent, headers: fields, redirect: 'manual', signal });
    return { status: response.status, word: `${response.status}`, text: await response.text() };
  } catch (error) {
    if (shell.signal.aborted) throw aborted();
    return { status: 0, word: safeCause(error).message, text: '' };
  }
}

function allows({ Effect, Principal }: Members, account: string): boolean {
  const principals = [typeof Principal === 'string' ? Principal : membersOf(Principal).AWS].flat();
  return (
    Effect === 'Allow' && principals.some((one) => one === '*' || one === account || `${one}`.includes(`::${account}:`))
  );
}
