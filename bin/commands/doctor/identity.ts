import { Sha256 } from '@aws-crypto/sha256-js';
import { GetCallerIdentityCommand, STSClient } from '@aws-sdk/client-sts';
import { defaultProvider } from '@aws-sdk/credential-provider-node';
import { SignatureV4 } from '@smithy/signature-v4';
import { type Caller, parseCaller } from '../../../functions/broker/authorize.ts';
import { ALIAS, functionName } from '../../../lib/settings/names.ts';
import { isJsonObject, parseJsonObject } from '../../json.ts';
import { aborted, awsFailure, missingProfile } from '../shared/failure.ts';
import type { Endpoint } from './reach.ts';
import { failed, ok, type Step, unknown } from './step.ts';

type Credentials = Awaited<ReturnType<ReturnType<typeof defaultProvider>>>;

/** Finds the AWS credentials that a call would be signed with; none when they are missing or have expired. */
export async function findCredentials(): Promise<{ readonly step: Step; readonly credentials?: Credentials }> {
  const step = 'aws-credentials';
  try {
    const credentials = await defaultProvider()();
    const { accessKeyId, sessionToken, expiration } = credentials;
    if (expiration !== undefined && expiration.getTime() <= Date.now()) {
      return { step: failed(step, 'aws-credentials-expired', `They ended at ${expiration.toISOString()}`) };
    }
    const kind = sessionToken ? 'temporary ones' : 'lasting ones';
    const end = expiration ? `, until ${expiration.toISOString()}` : '';
    return { step: ok(step, `${accessKeyId}, ${kind}${end}`), credentials };
  } catch {
    // The chain's own words may quote a profile.
    return {
      step: failed(step, 'aws-credentials-missing', missingProfile() ?? 'No source of AWS credentials gave any'),
    };
  }
}

/** Asks AWS whose the credentials are. */
export async function identify(
  credentials: Credentials,
  { url, region }: Endpoint,
  signal: AbortSignal,
): Promise<{ readonly step: Step; readonly caller?: Caller }> {
  const step = 'identity';
  if (url.protocol === 'http:' && !process.env.AWS_ENDPOINT_URL_STS) {
    return { step: unknown(step, 'A local broker knows its callers by itself') };
  }
  const sts = new STSClient({ region, credentials, maxAttempts: 2, requestHandler: PATIENT });
  try {
    const { Arn = '' } = await sts.send(new GetCallerIdentityCommand({}), { abortSignal: signal });
    const caller = parseCaller(Arn);
    if (caller === undefined) return { step: failed(step, 'caller-not-a-role', `You are ${Arn}`) };
    return { step: ok(step, `You are ${Arn}`), caller };
  } catch (error) {
    const { type, detail, advice } = awsFailure(error, { action: 'sts:GetCallerIdentity', region });
    const isAboutKeys = type === 'aws-credentials-expired' || type === 'aws-credentials-invalid';
    return { step: isAboutKeys ? { step, outcome: 'failed', detail, cause: type, advice } : unknown(step, detail) };
  }
}

const PATIENT = { connectionTimeout: 3_000, requestTimeout: 5_000, throwOnRequestTimeout: true };

interface Question {
  readonly environment: string;
  readonly region: string;
  readonly credentials: Credentials;
  /** Whose account it is about; when unknown nothing can be told. */
  readonly caller: Caller | undefined;
}

/**
 * Which permission is missing when AWS says no more than `Forbidden`: AWS answers alike for each of them, so the function's
 * own policy is read, if that is allowed.
 */
export async function examinePermissions(question: Question, signal: AbortSignal): Promise<Step> {
  const step = 'permissions';
  const { caller } = question;
  if (caller === undefined) return unknown(step, 'Whose account this is cannot be told');
  const policy = await readPolicy(question, signal);
  if (policy === undefined) return unknown(step, "The function's policy cannot be read (lambda:GetPolicy)");

  const statements = policy.filter((statement) => allows(statement, caller));
  const has = (action: string) => statements.some(({ Action }) => [Action].flat().includes(action));
  const [mayCall, mayInvoke] = [has('lambda:InvokeFunctionUrl'), has('lambda:InvokeFunction')];
  const found = `The function's policy gives account ${caller.account}`;
  if (!mayCall && !mayInvoke) return failed(step, 'permission-account', `${found} nothing`);
  if (!mayCall) return failed(step, 'permission-invoke-function-url', `${found} lambda:InvokeFunction only`);
  if (!mayInvoke) return failed(step, 'permission-invoke-function', `${found} lambda:InvokeFunctionUrl only`);
  return failed(step, 'permission-identity', `${found} both permissions`);
}

type Statement = Readonly<Record<string, unknown>>;

/** The statements of the policy on the function's alias, none when it has none; `undefined` when it cannot be read. */
async function readPolicy(question: Question, signal: AbortSignal): Promise<readonly Statement[] | undefined> {
  try {
    const response = await askLambda(question, AbortSignal.any([signal, AbortSignal.timeout(10_000)]));
    if (response.status === 404) return [];
    const policy = parseJsonObject(`${parseJsonObject(await response.text())?.Policy}`);
    return Array.isArray(policy?.Statement) ? policy.Statement.filter(isJsonObject) : undefined;
  } catch {
    if (signal.aborted) throw aborted();
    return undefined;
  }
}

/** `lambda:GetPolicy`, signed by hand: for one call a whole SDK client would be too much. */
async function askLambda({ environment, region, credentials }: Question, signal: AbortSignal): Promise<Response> {
  const suffix = region.startsWith('cn-') ? '.cn' : '';
  const url = new URL(process.env.AWS_ENDPOINT_URL_LAMBDA ?? `https://lambda.${region}.amazonaws.com${suffix}`);
  const path = `/2015-03-31/functions/${functionName(environment)}/policy`;
  const query = { Qualifier: ALIAS };
  const signer = new SignatureV4({ service: 'lambda', region, credentials, sha256: Sha256 });
  const { protocol, hostname, host } = url;
  const request = { method: 'GET', protocol, hostname, path, query, headers: { host } };
  const { host: _writtenByFetch, ...headers } = (await signer.sign(request)).headers;
  return fetch(new URL(`${path}?${new URLSearchParams(query)}`, url), { headers, redirect: 'manual', signal });
}

function allows({ Effect, Principal }: Statement, { account }: Caller): boolean {
  const principals = [isJsonObject(Principal) ? Principal.AWS : Principal].flat();
  return (
    Effect === 'Allow' && principals.some((one) => one === '*' || one === account || `${one}`.includes(`::${account}:`))
  );
}
